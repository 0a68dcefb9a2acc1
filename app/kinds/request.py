"""The admitted requests as values, for whoever carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.domain.digest import Json, parse
from app.domain.errors import UnfitInput
from app.domain.extent import WHOLE, Extent
from app.domain.identity import OperationId
from app.domain.work_order import RetryRule
from app.kinds.reading import integer, mapping, string, strings


@dataclass(frozen=True, slots=True)
class Signature:
    """Who and when a commit says; from the attempt, so that the same tree gives the same commit."""

    name: str
    email: str
    when: int  #: unix seconds


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """What one activity that runs a command on a checkout is to do."""

    attempt: str
    step: str
    operation: OperationId
    repository: str  #: id
    forge: str
    url: str | None  #: at a forge beyond this host
    base: str  #: sha
    branch: str | None  #: of the candidate; None: what it changes is thrown away
    title: str
    executor: str
    command: tuple[str, ...]
    prompt: str | None  #: for an agent, in place of a command
    paths: tuple[str, ...]
    checks: tuple[str, ...]
    timeout: timedelta
    check_timeout: timedelta
    signature: Signature
    message: str  #: of the commit
    outputs: Mapping[str, Json] | None  #: the JSON Schema of what it must write
    checkout: Extent = WHOLE
    source: str | None = None  #: where the repository came from; with a checkout of its own


@dataclass(frozen=True, slots=True)
class PullRequestRequest:
    """What one pull request activity is to open."""

    attempt: str
    operation: OperationId
    repository: str  #: id
    forge: str
    url: str | None  #: at a forge beyond this host
    base: str  #: branch
    head: str  #: branch
    head_sha: str
    title: str
    body: str
    draft: bool
    labels: tuple[str, ...]
    reviewers: tuple[str, ...]
    supersedes: tuple[int, ...]  #: numbers of the earlier attempts' requests, to be closed


@dataclass(frozen=True, slots=True)
class ChecksRequest:
    """Which request, and which commit, one checks activity is to watch."""

    attempt: str
    repository: str  #: id
    forge: str
    url: str | None  #: at a forge beyond this host
    number: int
    head_sha: str
    timeout: timedelta


def work_request(data: bytes) -> WorkRequest:
    """Read an admitted `missions.author` or `missions.command` request."""
    value = _object(data)
    attempt, repository = string(value, "attempt"), mapping(value, "repository")
    return WorkRequest(
        attempt=attempt,
        step=string(value, "step"),
        operation=OperationId(string(value, "operation")),
        repository=string(repository, "id"),
        forge=string(repository, "forge"),
        url=_url(repository),
        base=string(mapping(value, "base"), "sha"),
        branch=string(value, "branch") if value.get("branch") is not None else None,
        title=string(value, "title"),
        executor=string(value, "executor"),
        command=tuple(strings(value, "command")),
        prompt=string(value, "prompt") if "prompt" in value else None,
        paths=tuple(strings(value, "paths")),
        checks=tuple(strings(value, "checks")),
        timeout=timedelta(seconds=integer(value, "timeout_s")),
        check_timeout=timedelta(seconds=integer(value, "check_timeout_s")),
        signature=_signature(mapping(value, "author")),
        message=f"{string(value, 'title')}\n\nFencepost-Attempt: {attempt}\n",
        outputs=mapping(value, "outputs") if value.get("outputs") is not None else None,
        checkout=_extent(mapping(value, "checkout")) if "checkout" in value else WHOLE,
        source=string(value, "source") if "source" in value else None,
    )


def pull_request_request(data: bytes) -> PullRequestRequest:
    """Read an admitted `forge.pull_request` request."""
    value = _object(data)
    repository, head = mapping(value, "repository"), mapping(value, "head")
    style = mapping(value, "style") if "style" in value else {}
    closed = value.get("supersedes")
    superseded = closed if isinstance(closed, list) else []
    return PullRequestRequest(
        attempt=string(value, "attempt"),
        operation=OperationId(string(value, "operation")),
        repository=string(repository, "id"),
        forge=string(repository, "forge"),
        url=_url(repository),
        base=string(mapping(value, "base"), "branch"),
        head=string(head, "branch"),
        head_sha=string(head, "sha"),
        title=string(value, "title"),
        body=string(value, "body"),
        draft=style.get("draft") is True,
        labels=tuple(strings(style, "labels")) if "labels" in style else (),
        reviewers=tuple(strings(style, "reviewers")) if "reviewers" in style else (),
        supersedes=tuple(one for one in superseded if isinstance(one, int)),
    )


def checks_request(data: bytes) -> ChecksRequest:
    """Read an admitted `forge.checks` request."""
    value = _object(data)
    repository = mapping(value, "repository")
    return ChecksRequest(
        attempt=string(value, "attempt"),
        repository=string(repository, "id"),
        forge=string(repository, "forge"),
        url=_url(repository),
        number=integer(value, "number"),
        head_sha=string(mapping(value, "head"), "sha"),
        timeout=timedelta(seconds=integer(value, "timeout_s")),
    )


def _url(repository: Mapping[str, Json]) -> str | None:
    return None if repository.get("url") is None else string(repository, "url")


def retry_rules(data: bytes) -> Mapping[str, RetryRule]:
    """How the work order behind an admitted request tightens the policy of retries (T09)."""
    return rules_from(_object(data).get("retry", {}))


def step_of(data: bytes) -> str:
    """The step that an admitted request is of."""
    return string(_object(data), "step")


def rules_from(value: Json) -> Mapping[str, RetryRule]:
    """Rules by failure class, from their canonical form."""
    if not isinstance(value, Mapping):
        raise UnfitInput("retry: an object is expected")
    return {name: _rule(mapping(value, name)) for name in value}


def _rule(value: Mapping[str, Json]) -> RetryRule:
    backoff = integer(value, "backoff_s") if value.get("backoff_s") is not None else None
    pause = None if backoff is None else timedelta(seconds=backoff)
    return RetryRule(integer(value, "attempts"), pause)


def _signature(value: Mapping[str, Json]) -> Signature:
    return Signature(string(value, "name"), string(value, "email"), integer(value, "when"))


def _extent(value: Mapping[str, Json]) -> Extent:
    depth = integer(value, "depth") if value.get("depth") is not None else None
    folders = tuple(strings(value, "sparse"))
    return Extent(folders, depth, value.get("submodules") is True, value.get("lfs") is True)


def _object(data: bytes) -> Mapping[str, Json]:
    value = parse(data)
    if not isinstance(value, Mapping):
        raise UnfitInput("a request is a JSON object")
    return value
