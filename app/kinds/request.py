"""The admitted requests as values, for whoever carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.domain.digest import Json, parse
from app.domain.errors import UnfitInput
from app.domain.identity import OperationId
from app.kinds.reading import integer, mapping, string, strings


@dataclass(frozen=True, slots=True)
class Signature:
    """Who and when a commit says; from the attempt, so that the same tree gives the same commit."""

    name: str
    email: str
    when: int  #: unix seconds


@dataclass(frozen=True, slots=True)
class AuthorRequest:
    """What one author activity is to do."""

    attempt: str
    operation: OperationId
    repository: str  #: id
    base: str  #: sha
    branch: str  #: of the candidate
    title: str
    executor: str
    command: tuple[str, ...]
    paths: tuple[str, ...]
    checks: tuple[str, ...]
    timeout: timedelta
    check_timeout: timedelta
    signature: Signature
    message: str  #: of the commit


@dataclass(frozen=True, slots=True)
class PullRequestRequest:
    """What one pull request activity is to open."""

    attempt: str
    operation: OperationId
    repository: str  #: id
    forge: str
    base: str  #: branch
    head: str  #: branch
    head_sha: str
    title: str
    body: str


def author_request(data: bytes) -> AuthorRequest:
    """Read an admitted `missions.author` request."""
    value = _object(data)
    attempt = string(value, "attempt")
    return AuthorRequest(
        attempt=attempt,
        operation=OperationId(string(value, "operation")),
        repository=string(mapping(value, "repository"), "id"),
        base=string(mapping(value, "base"), "sha"),
        branch=string(value, "branch"),
        title=string(value, "title"),
        executor=string(value, "executor"),
        command=tuple(strings(value, "command")),
        paths=tuple(strings(value, "paths")),
        checks=tuple(strings(value, "checks")),
        timeout=timedelta(seconds=integer(value, "timeout_s")),
        check_timeout=timedelta(seconds=integer(value, "check_timeout_s")),
        signature=_signature(mapping(value, "author")),
        message=f"{string(value, 'title')}\n\nFencepost-Attempt: {attempt}\n",
    )


def pull_request_request(data: bytes) -> PullRequestRequest:
    """Read an admitted `forge.pull_request` request."""
    value = _object(data)
    repository, head = mapping(value, "repository"), mapping(value, "head")
    return PullRequestRequest(
        attempt=string(value, "attempt"),
        operation=OperationId(string(value, "operation")),
        repository=string(repository, "id"),
        forge=string(repository, "forge"),
        base=string(mapping(value, "base"), "branch"),
        head=string(head, "branch"),
        head_sha=string(head, "sha"),
        title=string(value, "title"),
        body=string(value, "body"),
    )


def _signature(value: Mapping[str, Json]) -> Signature:
    return Signature(string(value, "name"), string(value, "email"), integer(value, "when"))


def _object(data: bytes) -> Mapping[str, Json]:
    value = parse(data)
    if not isinstance(value, Mapping):
        raise UnfitInput("a request is a JSON object")
    return value
