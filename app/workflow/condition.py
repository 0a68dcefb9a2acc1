"""Conditions: JMESPath over the steps that ran before, and nothing else (decisions/0009)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from app.domain.digest import Json

LONGEST = 500
#: What a condition may ask of a step.
FIELDS = ("state", "outcome", "outputs")


class BadCondition(ValueError):
    """The text is no condition over steps."""


def references(text: str) -> set[tuple[str, str]]:
    """Which steps a condition asks, and what: {(step, field)}; BadCondition when it is none."""
    if len(text) > LONGEST:
        raise BadCondition(f"longer than {LONGEST} characters")
    try:
        tree: Mapping[str, Any] = jmespath.compile(text).parsed
    except JMESPathError as fault:
        raise BadCondition(str(fault).splitlines()[0]) from None
    found = set(_read(tree))
    if not found:
        raise BadCondition("it asks no step: write steps.NAME.outcome == 'green'")
    return found


def holds(text: str, steps: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether the condition is true of these steps; anything but `true` is false."""
    try:
        return jmespath.search(text, {"steps": steps}) is True
    except JMESPathError:
        return False


def _read(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Only `steps.NAME.FIELD…` may be read; the rest of the language is left as it is."""
    path = _path(node)
    if path is not None:
        if len(path) < 3 or path[0] != "steps" or path[2] not in FIELDS:
            raise BadCondition(f"{'.'.join(path)} is not steps.NAME.{'|'.join(FIELDS)}")
        yield path[1], path[2]
        return
    if node["type"] == "current":
        raise BadCondition("it reads everything; name a step")
    for child in node["children"]:
        yield from _read(child)


def _path(node: Mapping[str, Any]) -> list[str] | None:
    if node["type"] == "field":
        return [str(node["value"])]
    if node["type"] != "subexpression":
        return None
    path: list[str] = []
    for child in node["children"]:
        part = _path(child)
        if part is None:
            return None
        path += part
    return path
