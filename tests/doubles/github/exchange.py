"""A request as it came, an answer as it goes, and the refusals in between."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from doubles.github.server import GitHub
    from doubles.github.world import Token, World

DOCUMENTATION = "https://docs.github.com/rest"


@dataclass
class Request:
    """One HTTP request."""

    method: str
    path: str  #: decoded by nobody, without the query
    query_string: str
    headers: dict[str, str]  #: lower-case names
    body: bytes
    query: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.query = dict(parse_qsl(self.query_string, keep_blank_values=True))

    def json(self) -> Any:
        """The body as JSON; nothing at all counts as an empty object."""
        if not self.body:
            return {}
        try:
            return json.loads(self.body)
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None

    def fields(self) -> dict[str, Any]:
        """The body, which has to be an object."""
        found = self.json()
        if not isinstance(found, dict):
            raise Refused(400, "Body should be a JSON object")
        return found


@dataclass
class Answer:
    """One HTTP answer; a body of another kind than bytes goes out as JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    stored: bool = False
    note: Any = None  #: what the record keeps beside it

    def content(self) -> bytes:
        """The bytes of the body."""
        if self.body is None or self.status in {204, 304}:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


class Refused(Exception):
    """The API says no, with a status and GitHub's way of saying it."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: list[Any] | None = None,
        headers: dict[str, str] | None = None,
        documentation: str = DOCUMENTATION,
    ) -> None:
        super().__init__(message)
        body: dict[str, Any] = {"message": message}
        if errors is not None:
            body["errors"] = errors
        body |= {"documentation_url": documentation, "status": str(status)}
        self.answer = Answer(status, body, headers or {})


def invalid(resource: str, message: str | None = None, **more: str) -> Refused:
    """A 422 with one error in its list."""
    error = {"resource": resource, **more}
    if message is not None:
        error = {**error, "code": more.get("code", "custom"), "message": message}
    return Refused(422, "Validation Failed", [error])


@dataclass
class Call:
    """A request of the API on its way through a route."""

    github: GitHub
    request: Request
    token: Token | None
    values: dict[str, str]  #: what the path held

    @property
    def world(self) -> World:
        return self.github.world
