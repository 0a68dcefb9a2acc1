"""Output contracts: the JSON Schema that a step's outputs must fit."""

from __future__ import annotations

from collections.abc import Mapping

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry

from app.domain.digest import Json


def problem_of(schema: Json) -> str | None:
    """Why a schema is no contract, or None."""
    if not isinstance(schema, Mapping):
        return "an output contract is a JSON Schema object"
    if schema.get("type") != "object":
        return "an output contract describes an object (type: object)"
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as fault:
        return f"the output contract is no JSON Schema: {fault.message}"
    return None


def breach(schema: Mapping[str, Json], outputs: Json) -> str | None:
    """The first way in which outputs break their contract, or None; nothing is fetched."""
    validator = Draft202012Validator(dict(schema), registry=Registry())
    for fault in sorted(validator.iter_errors(outputs), key=str):
        place = "/".join(str(part) for part in fault.absolute_path)
        return f"{place or 'outputs'}: {fault.message}"[:500]
    return None
