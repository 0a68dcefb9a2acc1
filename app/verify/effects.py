"""One effect per operation, read at the remote itself where it can be reached (L4, L3, G02).

What is at the remote after the rows were read may be newer than they; never older.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.store import schema
from app.verify import git
from app.verify.claims import ACTIVITY
from app.verify.finding import AnyRow, Finding, Unread, against
from app.verify.reading import Found, Stream, Value, World, value_of

OPERATIONS = "refs/fencepost/operations/"
LEDGER = "refs/fencepost/forge/requests"
FINAL = ("result", "closed")
#: A person's word that nothing came of what was begun up to a fence.
VOUCHING = ("attest_absence", "abandon")
_MARKER = re.compile(r"<!--\s*fencepost\s+operation\s*=\s*([0-9a-f]{64})\s*-->")


@dataclass(frozen=True, slots=True)
class Remote:
    """A local forge's mirror, and the requests in its ledger."""

    repository: git.Repository
    requests: tuple[Value, ...]
    marked: Counter[str]  #: operation → requests that carry its marker


class Forge:
    """The mirrors under one folder, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._remotes: dict[str, Remote | Unread] = {}

    def remote(self, repository: str) -> Remote | Unread:
        """The mirror of a repository."""
        if repository not in self._remotes:
            try:
                self._remotes[repository] = _remote(self._folder / f"{repository}.git")
            except git.Unreadable as fault:
                self._remotes[repository] = Unread(str(fault))
        return self._remotes[repository]


def operations_in(body: object) -> set[str]:
    """The operations whose marker a request carries."""
    return set(_MARKER.findall(body)) if isinstance(body, str) else set()


def _remote(git_dir: Path) -> Remote:
    repository = git.opened(git_dir)
    tip = repository.refs.get(LEDGER)
    blobs = [repository.blob(tip, name) for name in repository.names(tip)] if tip else []
    requests = tuple(value_of(blob) or {} for blob in blobs if blob is not None)
    marked = Counter(one for request in requests for one in operations_in(request.get("body")))
    return Remote(repository, requests, marked)


def check(world: World) -> Iterator[Finding]:
    """Hold every bound operation against what its remote shows."""
    forge, given_up = Forge(world.reading.mirrors), _given_up(world)
    for _, found in world.together(
        Stream(schema.activities, ACTIVITY, large=("request",)),
        Stream(schema.bindings, ACTIVITY),
        Stream(schema.starts, ACTIVITY),
        Stream(schema.results, ACTIVITY),
        Stream(schema.settlements, ACTIVITY),
        Stream(schema.unknowns, ACTIVITY),
    ):
        for activity in found["activities"] if found["bindings"] else []:
            request = value_of(activity.request) or {}
            place = request.get("repository")
            if not isinstance(place, dict) or place.get("forge") != "local":
                yield Unread("a forge that is not local")
                continue
            remote = forge.remote(str(place.get("id")))
            if isinstance(remote, Unread):
                yield remote
                continue
            payload = world.payload(found["results"][0].digest) if found["results"] else None
            if activity.kind not in KINDS:
                yield Unread(f"the effects of {activity.kind}")
                continue
            try:
                yield from KINDS[activity.kind](activity, request, payload, found, remote)
                if activity.kind != "forge.pull_request":
                    yield from _branch(payload, found, remote, given_up)
            except git.Unreadable as fault:
                yield Unread(str(fault))


def _operation(
    activity: AnyRow, request: Value, payload: bytes | None, found: Found, remote: Remote
) -> Iterator[Finding]:
    """The chain holds every start, ends as the result says, and published what was recorded."""
    tip = remote.repository.refs.get(f"{OPERATIONS}{request.get('operation')}")
    if tip is None:
        yield from _without_ref(found)
        return
    said = value_of(remote.repository.blob(tip, "operation.json") or b"") or {}
    if said.get("operation") != request.get("operation"):
        if not found["unknowns"]:
            yield against("L4", schema.bindings, found["bindings"][0], "its ref is not ours")
        return
    if int(str(said.get("fence"))) > activity.fence:
        what = f"its fence {activity.fence} is below that at the remote, {said.get('fence')}"
        yield against("L3", schema.activities, activity, what)
    chain, vouched = set(remote.repository.chain(tip)), _vouched(found, "operation_ref_missing")
    for start in found["starts"]:
        if start.sha not in chain and start.fence > vouched:
            yield against("L4", schema.starts, start, "its commit is not in the operation's chain")
    for result in found["results"]:
        yield from _published(result, tip, said, payload, remote)


def _without_ref(found: Found) -> Iterator[Finding]:
    """Only where a start says that there can be no mark, or the end has come, may it be missing."""
    if any(start.mode == "database" for start in found["starts"]):
        return  # its branch is looked at like any other
    if found["starts"] and not found["settlements"] and not found["unknowns"]:
        what = "the remote has no operation ref of it"
        yield against("L4", schema.starts, found["starts"][-1], what)
    elif found["starts"]:
        yield Unread("an operation ref that is gone")


def _published(
    result: AnyRow, tip: str, said: Value, payload: bytes | None, remote: Remote
) -> Iterator[Finding]:
    mark = said.get("mark")
    if mark not in FINAL:
        yield against("L9", schema.results, result, f"its chain at the remote is still {mark}")
    elif mark == "closed" and result.outcome not in ("canceled", "abandoned", "dead"):
        yield against("L9", schema.results, result, "its chain at the remote was closed without it")
    elif mark == "result" and remote.repository.blob(tip, "observation.json") != payload:
        yield against("L5", schema.results, result, "the remote published another observation")


def _branch(
    payload: bytes | None, found: Found, remote: Remote, given_up: set[str]
) -> Iterator[Finding]:
    """The branch of a green candidate holds it, until its request ended or a person gave it up."""
    candidate = (value_of(payload or b"") or {}).get("candidate")
    for result in found["results"]:
        if result.outcome != "green" or not isinstance(candidate, dict):
            continue
        branch, head = str(candidate.get("branch")), str(candidate.get("head"))
        at = remote.repository.refs.get(f"refs/heads/{branch}")
        if at is not None and not remote.repository.holds(at, head):
            yield against("L4", schema.results, result, f"branch {branch} does not hold its {head}")
        ended = any(
            one.get("head") == branch and one.get("state") != "open" for one in remote.requests
        )
        if at is None and not ended and branch not in given_up:
            yield against("L4", schema.results, result, f"branch {branch} is gone without a merge")


def _vouched(found: Found, code: str) -> int:
    """The newest fence up to which a person vouches; 0 without one."""
    return max(
        (int(one.fence) for one in found["unknowns"]
         if one.code == code and one.decision in VOUCHING), default=0,
    )  # fmt: skip


def _given_up(world: World) -> set[str]:
    """The branches that a person's word has taken from under a call."""
    names = set()
    for _, found in world.together(
        Stream(schema.activities, ACTIVITY, ("request",),
               schema.activities.c.kind == "forge.pull_request"),
        Stream(schema.unknowns, ACTIVITY, where=schema.unknowns.c.kind == "forge.pull_request"),
    ):  # fmt: skip
        for activity in found["activities"] if _vouched(found, "unresolved_call") else []:
            head = (value_of(activity.request) or {}).get("head")
            names.add(str(head.get("branch")) if isinstance(head, dict) else "")
    return names


def _request(
    activity: AnyRow, request: Value, payload: bytes | None, found: Found, remote: Remote
) -> Iterator[Finding]:
    """Exactly one request carries the marker of a green operation; never two (G02)."""
    operation = str(request.get("operation"))
    count, adopted = remote.marked[operation], {one.adopts for one in found["unknowns"]}
    if count > 1 and adopted <= {None}:
        yield against("G02", schema.activities, activity, f"{count} requests carry its marker")
    for result in found["results"]:
        if result.outcome != "green":
            continue
        shown = (value_of(payload or b"") or {}).get("pull_request")
        number = shown.get("number") if isinstance(shown, dict) else None
        if number is not None and number in adopted:
            continue  # a person named it, whoever opened it
        bodies = [one.get("body") for one in remote.requests if one.get("number") == number]
        if operations_in(bodies[0] if bodies else None) != {operation}:
            what = f"request #{number} at the remote does not carry its marker"
            yield against("L4", schema.results, result, what)


KINDS = {
    "missions.author": _operation,
    "missions.command": _operation,
    "forge.pull_request": _request,
}
