"""How an attempt stands or ended: for people, and as one object for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.cli import failing
from app.cli.pull_requests import fetch_command, unmistakable
from app.cli.shown import elapsed, painted, plain
from app.cli.waiting_told import told as waiting_told
from app.domain.pull_request import LOCAL_FORGE
from app.store.engine import Store
from app.store.views.artifacts import artifacts_of
from app.store.views.attempt import (
    AttemptSeen,
    attempt_seen,
    modes_of,
    observations_of,
    receipts_of,
)
from app.store.views.fleet import repositories_seen
from app.store.views.waiting import waits_of

_DONE = ("done", "unchanged")
_MOST_FILES = 20

#: What to do about a failure, by its code.
ADVICE = {
    "command_not_found": "install it where the worker runs, or give its path in the repository",
    "command_not_executable": "make it executable, and commit that",
    "command_failed": "mend what the command complains about, then run it again",
    "deadline_exceeded": "give it more time with --timeout",
    "outside_scope": "widen --path, or keep the command inside of it",
    "path_matches_nothing": "correct --path: it is a pattern of paths from the repository's root",
    "check_failed": "mend what the check complains about, then run it again",
    "check_timed_out": "give it more time with --check-timeout",
    "poison": "mend what the last start ended with, then `fencepost dead-letters list` and replay",
    "check_changed_files": "let checks write outside the repository's folder",
}

#: Where a fence stands at its remote, as far as that is not as usual.
MODES = {
    "operation_branch": "a branch stands for the operation ref, as custom refs are refused",
    "database": "the remote takes no mark: one push a claim, and a start without a branch is "
    "held for a person",
}


def summary(store: Store, home: Path, world: str, attempt: str) -> dict[str, Any]:
    """Everything that is worth knowing at the end, from rows."""
    with store.begin() as tx:
        seen = attempt_seen(tx, world, attempt)
        observations = observations_of(tx, seen)
        modes = modes_of(tx, seen)
        receipts = receipts_of(tx, seen)
        artifacts = artifacts_of(tx, world, attempt)
        repositories = repositories_seen(tx)
        waits, waiting = waits_of(tx, world, attempt, seen.work_order), waiting_told(tx, seen)
    author = observations.get("author", {})
    request = observations.get("pull_request", {}).get("pull_request")
    candidate = _object(author.get("candidate"))
    unknown = seen.unknown
    found: dict[str, Any] = {
        "type": "summary",
        "attempt": seen.id,
        "outcome": "unknown" if unknown else seen.outcome or "active",
        "title": seen.title,
        "number": seen.number,
        "task": seen.task,
        "work_order": seen.work_order,
        "world": seen.world,
        "repository": {"id": seen.repository, "name": seen.repository_name, "url": seen.url},
        "steps": [
            {"name": step.name, "state": step.state, "mode": modes.get(step.name)}
            for step in seen.steps
        ],
        "pull_request": request,
        "branch": candidate.get("branch"),
        "commit": candidate.get("head"),
        "files": candidate.get("files", []),
        "file_count": candidate.get("file_count", 0),
        "checks": author.get("checks", []),
        "frictions": [
            {"step": step, **_object(one)}
            for step, observation in observations.items()
            for one in _list(observation.get("frictions"))
        ],
        "output": _object(author.get("execution")).get("output"),
        "waits": [asdict(one) for one in waits],
        "waiting": waiting,
        "unknown": unknown
        and {"step": unknown.name, "code": unknown.unknown, "detail": unknown.unknown_detail},
        "artifacts": artifacts,
        "receipts": [one.tick for one in receipts],
        "elapsed": seen.elapsed,
        "exit_code": exit_code(seen),
    }
    (repository,) = (one for one in repositories if one.id == seen.repository)
    prefix = "" if len(repositories) == 1 else f"{unmistakable(repository, repositories)}:"
    mirror = home / "forge" / f"{seen.repository}.git"
    where = mirror if repository.forge == LOCAL_FORGE else seen.url
    return {**found, "next": _next(seen, found, prefix, where)}


def exit_code(seen: AttemptSeen) -> int:
    """What the attempt means to whoever asked for it."""
    if seen.unknown is not None:
        return failing.UNKNOWN
    return failing.DONE if seen.outcome in (None, *_DONE) else failing.FAILED


def tell(found: Mapping[str, Any]) -> None:
    """Print a summary for people."""
    print(_headline(found))
    for words in found["waiting"].values():
        print(f"  {words}")
    for friction in found["frictions"]:
        print(f"  {plain(friction['code'])}: {plain(str(friction['detail']), 300)}")
    for advice in dict.fromkeys(ADVICE.get(one["code"], "") for one in found["frictions"]):
        if advice:
            print(f"  {advice}")
    if found["frictions"]:
        _tell_outputs(found)
    if found["commit"]:
        print(f"  branch    {found['branch']}")
        print(f"  commit    {found['commit']}")
        _tell_files(found)
    for check in found["checks"]:
        how = f"exit {check['exit']}" if check["cause"] == "exited" else check["cause"]
        print(
            f"  check     {plain(check['command'], 80)}: {how}, {check['duration_ms'] / 1000:.1f} s"
        )
    _tell_modes(found)
    print(f"  receipts  {_ranges(found['receipts'])}")
    print(f"  attempt   {found['attempt']} (number {found['number']} of {found['task']}), "
          f"{elapsed(found['elapsed'])}")  # fmt: skip
    for index, command in enumerate(found["next"]):
        print(("next: " if index == 0 else "      ") + command)


def _headline(found: Mapping[str, Any]) -> str:
    outcome = found["outcome"]
    match outcome:
        case "done":
            request = found["pull_request"]
            return painted(f"pull request #{request['number']}", "green") + f"  {request['url']}"
        case "unchanged":
            return painted(
                "unchanged: the command changed nothing, so there is no request", "green"
            )
        case "unknown":
            held = found["unknown"]
            what = f"outcome unknown in step {held['step']}: {held['code']}: {held['detail']}"
            return painted(plain(what, 400), "yellow")
        case "active":
            steps = ", ".join(f"{one['name']} {one['state']}" for one in found["steps"])
            return painted(f"active: {steps}", "bold")
        case _:
            return painted(f"{outcome}: {plain(found['title'], 100)}", "red")


def _tell_outputs(found: Mapping[str, Any]) -> None:
    """The end of what was written by the checks that failed, else by the command."""
    failed = [one for one in found["checks"] if one["cause"] != "exited" or one["exit"] != 0]
    told = [(f"check {plain(one['command'], 80)}", one["tail"]) for one in failed]
    for who, output in told or [("its output", found["output"])]:
        if output:
            print(f"  {who} ended with:")
            for line in str(output).splitlines()[-10:]:
                print(f"    {plain(line, 160)}")


def _tell_modes(found: Mapping[str, Any]) -> None:
    """How steps are fenced at their remote, where that is not as usual."""
    for step in found["steps"]:
        if step["mode"] in MODES:
            print(f"  mode      {step['name']}: {MODES[step['mode']]}")


def _tell_files(found: Mapping[str, Any]) -> None:
    print(f"  files     {found['file_count']} changed")
    for file in found["files"][:_MOST_FILES]:
        print(f"    {_change(file)}")
    if found["file_count"] > _MOST_FILES:
        print(f"    and {found['file_count'] - _MOST_FILES} more")


def _change(file: Mapping[str, Any]) -> str:
    words = f"{file['change']}".replace("_", " ")
    if file.get("old_path"):
        words += f" {plain(file['old_path'])} to"
    return f"{words} {plain(file['path'])}"


def _next(seen: AttemptSeen, found: Mapping[str, Any], prefix: str, where: Path | str) -> list[str]:
    explain = f"fencepost explain {seen.id}"
    if seen.unknown is not None:
        return [f"fencepost unknown show {seen.id}", explain]
    if seen.outcome == "unchanged":
        return [explain]
    if seen.outcome is None:
        return [f"fencepost logs {seen.id} --follow", f"fencepost attempts cancel {seen.id}"]
    if request := found["pull_request"]:
        return [
            f"fencepost pull-requests show {prefix}{request['number']}",
            fetch_command(where, request["head"]),
            explain,
        ]
    return [f"fencepost logs {seen.id}", explain]


def _ranges(numbers: list[int]) -> str:
    """Whole numbers in order, runs of them joined: `1-3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
