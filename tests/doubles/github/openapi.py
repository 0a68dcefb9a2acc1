"""GitHub's own description of its API, held against what was asked and what was answered."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from doubles.github.record import Entry
from openapi_schema_validator import OAS30Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

DESCRIPTION = Path(__file__).parents[3] / ".openapi_cache" / "api.github.com.json"
URN = "urn:github"
REPO = "/repos/{owner}/{repo}"
#: old paths that GitHub still answers, and what they are called now
OLD = {
    ("GET", f"{REPO}/statuses/{{ref}}"): f"{REPO}/commits/{{ref}}/statuses",
    ("GET", f"{REPO}/git/refs/{{ref}}"): f"{REPO}/git/ref/{{ref}}",
}
#: where the description contradicts itself: an account is a user and an enterprise at once
IMPOSSIBLE = {"/app/installations": ".account"}
LABELS = f"{REPO}/issues/{{issue_number}}/labels"
ERRORS = "#/components/schemas/basic-error"


class MissingDescription(Exception):
    """The description has not been fetched; run `ops/openapi` where npm reaches its registry."""

    def __init__(self) -> None:
        super().__init__("GitHub's OpenAPI description is missing: run ops/openapi (needs npm)")


def violations_of(entries: list[Entry]) -> list[str]:
    """One sentence for each way in which a request or an answer leaves the description."""
    book = description()
    return [
        f"{entry.seq}: {entry.method} {entry.path}: {what}"
        for entry in entries
        for what in book.faults(entry)
    ]


@functools.cache
def description() -> Description:
    """The description, read once."""
    if not DESCRIPTION.exists():
        raise MissingDescription
    return Description(json.loads(DESCRIPTION.read_text("utf-8")))


class Description:
    """Operations by method and path template, and a validator for each schema in use."""

    def __init__(self, document: dict[str, Any]) -> None:
        resource = Resource(contents=document, specification=DRAFT4)
        self._registry = Registry().with_resource(URN, resource)
        self._validator = OAS30Validator
        self._document = document
        self._validators: dict[str, Any] = {}

    def faults(self, entry: Entry) -> list[str]:
        """What is wrong with one recorded request and its answer."""
        if not entry.path.startswith("/api/v3/") or entry.status is None:
            return []
        if entry.template is None:
            return ["the server of the tests has no such route"]
        template = OLD.get((entry.method, entry.template), entry.template)
        where = self._document["paths"].get(template, {}).get(entry.method.lower())
        if where is None:
            return [f"the description has no {entry.method} {template}"]
        pointer = f"#/paths/{escaped(template)}/{entry.method.lower()}"
        found = [f"request: {each}" for each in self._query(where, entry)]
        if entry.method != "GET" and (entry.status < 400 or entry.fault is not None):
            found += [f"request: {each}" for each in self._body(where, pointer, entry)]
        if entry.fault is None and entry.answer is not None:
            amiss = self._answer(pointer, entry)
            known = IMPOSSIBLE.get(template, "\0")
            found += [f"answer {entry.status}: {each}" for each in amiss if known not in each]
        return found

    def _query(self, operation: dict[str, Any], entry: Entry) -> list[str]:
        known = {}
        for each in operation.get("parameters", []):
            one = self._resolved(each)
            if one["in"] == "query":
                known[one["name"]] = one["schema"]
        found = []
        for name, text in parse_qsl(entry.query, keep_blank_values=True):
            if name not in known:
                found.append(f"no query parameter {name}")
                continue
            value: Any = text
            if known[name].get("type") == "integer" and text.lstrip("-").isdigit():
                value = int(text)
            validator = self._validator(known[name], registry=self._registry)
            found += [f"query {name}: {error.message}" for error in validator.iter_errors(value)]
        return found

    def _body(self, operation: dict[str, Any], pointer: str, entry: Entry) -> list[str]:
        wanted = operation.get("requestBody")
        if wanted is None:
            return ["a body where none belongs"] if entry.body else []
        if entry.body is None:
            return ["no body"] if wanted.get("required") else []
        kind = next(iter(wanted["content"]))
        here = f"{pointer}/requestBody/content/{escaped(kind)}/schema"
        if entry.template == LABELS and isinstance(entry.body, list):
            return self._against(here, {"labels": entry.body})  # allowed in its prose alone
        return [*self._against(here, entry.body), *self._extra(here, entry.body)]

    def _extra(self, pointer: str, body: Any) -> list[str]:
        """Names of a body that the description does not know: GitHub would ignore them silently."""
        schema = self._at(pointer)
        if not isinstance(body, dict) or "properties" not in schema:
            return []
        if schema.get("additionalProperties"):
            return []
        return [f"body: unknown field {name}" for name in body if name not in schema["properties"]]

    def _answer(self, pointer: str, entry: Entry) -> list[str]:
        answers = self._at(f"{pointer}/responses")
        status = str(entry.status)
        if status not in answers:
            documented = f"{pointer}/responses"
            if entry.status is not None and entry.status >= 400:
                return self._against(ERRORS, entry.answer)
            return [f"not among {sorted(self._at(documented))}"]
        answer = answers[status]
        here = f"{pointer}/responses/{status}"
        if "$ref" in answer:
            here, answer = answer["$ref"], self._resolved(answer)
        content = answer.get("content", {})
        if "application/json" not in content:
            return self._against(ERRORS, entry.answer) if int(status) >= 400 else []
        if int(status) == 422 and "errors" not in entry.answer:
            return self._against(ERRORS, entry.answer)
        return self._against(f"{here}/content/application~1json/schema", entry.answer)

    def _against(self, pointer: str, value: Any) -> list[str]:
        if pointer not in self._validators:
            reference = {"$ref": f"{URN}{pointer}"}
            self._validators[pointer] = self._validator(reference, registry=self._registry)
        errors = self._validators[pointer].iter_errors(value)
        found = sorted((each for each in errors if not is_null(each)), key=lambda e: e.json_path)
        return [f"{each.json_path}: {each.message[-200:]}{inner(each)}" for each in found[:5]]

    def _at(self, pointer: str) -> Any:
        found: Any = self._document
        for part in pointer.removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return found

    def _resolved(self, value: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in value:
            value = self._at(value["$ref"])
        return value


def is_null(error: Any) -> bool:
    """Null beside a choice that is nullable, which the validator does not see."""
    is_choice = error.validator in {"oneOf", "anyOf", "allOf", "enum"}
    return bool(is_choice and error.instance is None and error.schema.get("nullable"))


def inner(error: Any) -> str:
    """Why no member of a choice fits."""
    reasons = [f"{each.json_path}: {each.message[-160:]}" for each in error.context or ()]
    return f" ({'; '.join(reasons[:4])})" if reasons else ""


def escaped(part: str) -> str:
    """A part of a JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")
