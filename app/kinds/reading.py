"""Reading canonical objects: the value of the expected form, or UnfitInput."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from app.domain.digest import Json
from app.domain.errors import UnfitInput


def string(value: Mapping[str, Json], name: str) -> str:
    """A text field."""
    found = value.get(name)
    if not isinstance(found, str):
        raise UnfitInput(f"{name}: a string is expected")
    return found


def integer(value: Mapping[str, Json], name: str) -> int:
    """A whole number field."""
    found = value.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise UnfitInput(f"{name}: an integer is expected")
    return found


def mapping(value: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """An object field."""
    found = value.get(name)
    if not isinstance(found, Mapping):
        raise UnfitInput(f"{name}: an object is expected")
    return found


def items(value: Mapping[str, Json], name: str) -> list[Mapping[str, Json]]:
    """A field that is a list of objects."""
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise UnfitInput(f"{name}: a list of objects is expected")
    return cast("list[Mapping[str, Json]]", found)


def strings(value: Mapping[str, Json], name: str) -> list[str]:
    """A field that is a list of texts."""
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise UnfitInput(f"{name}: a list of strings is expected")
    return cast("list[str]", found)


def integers(value: Mapping[str, Json], name: str) -> list[int]:
    """A field that is a list of whole numbers."""
    found = value.get(name)
    if not isinstance(found, list) or not all(type(item) is int for item in found):
        raise UnfitInput(f"{name}: a list of integers is expected")
    return cast("list[int]", found)


def outputs_of(observation: Mapping[str, Json]) -> Mapping[str, Json]:
    """What a step wrote for the steps after it; nothing where it promised nothing."""
    return mapping(observation, "outputs") if "outputs" in observation else {}


def usage_of(observation: Mapping[str, Json]) -> tuple[int | None, int | None]:
    """Tokens and cost (millionths of a US dollar) that an agent reported; else None."""
    execution = observation.get("execution")
    used = execution.get("usage") if isinstance(execution, Mapping) else None
    if not isinstance(used, Mapping):
        return None, None
    tokens = [used.get("input_tokens"), used.get("output_tokens")]
    said = [one for one in tokens if type(one) is int]
    cost = used.get("cost_microdollars")
    return sum(said) if said else None, cost if type(cost) is int else None
