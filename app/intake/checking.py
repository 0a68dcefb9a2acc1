"""Holding a document against the schema; each fault at its place, in words of our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from app.intake.document import Document, Value
from app.intake.fault import Fault
from app.intake.schema import SCHEMA, Schema

#: Keyword of the schema → code of the fault.
CODES: Mapping[str, str] = {
    "additionalProperties": "unknown_field",
    "required": "missing_field",
    "anyOf": "missing_field",
    "type": "wrong_type",
    "enum": "bad_value",
    "pattern": "bad_value",
    "minimum": "out_of_range",
    "exclusiveMinimum": "out_of_range",
    "maximum": "out_of_range",
    "minLength": "too_short",
    "minItems": "too_short",
    "maxLength": "too_long",
    "maxItems": "too_long",
    "not": "conflict",
}

_TYPES = {
    "string": "a text", "integer": "a whole number", "number": "a number", "array": "a list",
    "boolean": "true or false", "object": "an object",
}  # fmt: skip


def faults(document: Document) -> Iterator[Fault]:
    """Every fault of the form, in no order."""
    for error in _validator().iter_errors(document.value):
        yield from _told(document, error)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(SCHEMA, registry=Registry())


def _told(document: Document, error: ValidationError) -> Iterator[Fault]:
    path, keyword = tuple(error.absolute_path), str(error.validator)
    code, name = CODES[keyword], shown_path(path)
    schema, instance = cast("Schema", error.schema), cast("Value", error.instance)
    if keyword == "additionalProperties" and isinstance(instance, dict):
        known = list(schema["properties"])
        for key in sorted(set(instance) - set(known)):
            unknown = f"{name}{'.' if path else ''}{key} is unknown"
            likely = get_close_matches(key, known, 1) or [f"one of {', '.join(known)}"]
            yield Fault(document.keys[(*path, key)], code, f"{unknown}; it may be {likely[0]}")
        return
    words = _words(keyword, name or "a work order", schema, instance)
    yield Fault(document.place(path), code, words)


def _words(keyword: str, name: str, schema: Schema, instance: Value) -> str:
    limit = schema[keyword]
    match keyword:
        case "required":
            absent = next(
                one for one in limit if isinstance(instance, dict) and one not in instance
            )
            return f"{name} lacks {absent}"
        case "anyOf":
            return "nothing says what runs: command, agent, or a workflow with commands"
        case "not":
            return "command and agent exclude each other"
        case "type":
            wanted = [limit] if isinstance(limit, str) else limit
            expected = schema.get("title") or " or ".join(_TYPES[one] for one in wanted)
            return f"{name} is {expected}, not {_kind(instance)}"
        case "enum":
            return f"{name} is one of {', '.join(limit)}, not {_short(instance)}"
        case "pattern":
            return f"{name} is {schema['title']}, not {_short(instance)}"
        case "minimum" | "exclusiveMinimum":
            return f"{name} is {'over' if keyword != 'minimum' else 'at least'} {limit}"
        case "maximum":
            return f"{name} is at most {limit}"
        case "minLength" | "minItems":
            return f"{name} is empty"
        case _:
            what = "characters" if keyword == "maxLength" else "entries"
            return f"{name} has more than {limit} {what}"


def shown_path(path: Sequence[str | int]) -> str:
    """A path as people write it: `workflow.steps[2].needs`."""
    shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return shown.removeprefix(".")


def _kind(value: Value) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return f"the number {value}"
        case str():
            return f"the text {_short(value)}"
        case list():
            return "a list"
        case _:
            return "an object"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
