"""How a list came out: for people, and as one object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.cli import failing
from app.cli.report import ADVICE
from app.cli.repos.entry import Entry, Standing
from app.cli.repos.screen import facts_of
from app.cli.shown import painted, plain
from app.domain.failure import normalised

_MOST_NAMED = 10  #: of the repositories of one cause


def summary(entries: Sequence[Entry], code: int | None, again: str) -> dict[str, Any]:
    """Everything that is worth knowing at the end; `code`: the exit code, where it is known.

    `again`: the command that begins anew what ended badly.
    """
    counts = Counter(entry.standing for entry in entries)
    before = Counter(entry.standing for entry in entries if entry.before)
    exit_code = _exit_code(entries) if code is None else code
    return {
        "type": "summary",
        "exit_code": exit_code,
        "total": len(entries),
        "counts": {str(one): counts[one] for one in Standing if counts[one]},
        "before": {str(one): before[one] for one in Standing if before[one]},
        "joined": sum(entry.joined for entry in entries),
        "failures": list(_failures(entry for entry in entries if entry.is_bad)),
        "unknown": list(_failures(e for e in entries if e.standing is Standing.UNKNOWN)),
        "waiting": list(_waiting(entries)),
        "repositories": [facts_of(entry) for entry in entries],
        "next": list(_next(entries, again)),
    }


def tell(found: Mapping[str, Any]) -> None:
    """Print a summary for people."""
    requests = [one for one in found["repositories"] if one["pull_request"]]
    if requests:
        print(painted("pull requests", "bold"))
    for one in requests:
        request, before = one["pull_request"], "  done before" if one["before"] else ""
        print(f"  {plain(one['name']):<24}  #{request['number']}  {request['url']}{before}")
    for title, groups in (("failed", found["failures"]), ("outcome unknown", found["unknown"])):
        if groups:
            print(painted(title, "red" if title == "failed" else "yellow"))
        for group in groups:
            _tell_group(group)
    if found["waiting"]:
        print(painted("waiting", "bold"))
    for group in found["waiting"]:
        print(f"  {group['count']} × {group['standing']}: {plain(group['why'], 300)}")
    print(f"{found['total']} repositories: {', '.join(_counted(found))}")
    for index, command in enumerate(found["next"]):
        print(("next: " if index == 0 else "      ") + command)


def _exit_code(entries: Sequence[Entry]) -> int:
    """3 where a person is needed, else 1 where any failed; 2 where nothing could be begun."""
    if any(entry.standing is Standing.UNKNOWN for entry in entries):
        return failing.UNKNOWN
    if all(entry.is_refused for entry in entries):
        return failing.REFUSED
    return failing.FAILED if any(entry.is_bad for entry in entries) else failing.DONE


def _failures(entries: Iterable[Entry]) -> Iterable[Mapping[str, Any]]:
    """The entries grouped by what went wrong, the largest group first."""
    groups: dict[tuple[str, str, str, str], list[Entry]] = {}
    for entry in entries:
        cause = entry.cause or normalised(entry.detail)
        code = entry.code or str(entry.standing)
        groups.setdefault((entry.standing, code, entry.failed_step or "", cause), []).append(entry)
    for group, some in sorted(groups.items(), key=lambda one: -len(one[1])):
        standing, code, step, cause = group
        yield {
            "standing": standing,
            "code": code,
            "step": step or None,
            "detail": some[0].detail,
            "cause": cause,
            "count": len(some),
            "advice": ADVICE.get(code) or some[0].hint or None,
            "repositories": [
                {"name": one.name, "attempt": one.attempt, "before": one.before} for one in some
            ],
        }


def _waiting(entries: Iterable[Entry]) -> Iterable[Mapping[str, Any]]:
    """The entries that wait, grouped by what for, the largest group first."""
    groups = Counter(
        (entry.standing, entry.why) for entry in entries if entry.is_under_way and entry.why
    )
    for (standing, why), count in groups.most_common():
        yield {"standing": standing, "why": why, "count": count}


def _counted(found: Mapping[str, Any]) -> Iterable[str]:
    for standing, count in found["counts"].items():
        before = found["before"].get(standing)
        yield f"{count} {standing}" + (f" ({before} of them before)" if before else "")


def _tell_group(group: Mapping[str, Any]) -> None:
    where = f" in step {group['step']}" if group["step"] else ""
    detail = f": {plain(group['detail'], 200)}" if group["detail"] else ""
    print(f"  {group['count']} × {group['code']}{where}{detail}")
    if group["cause"] not in ("", normalised(group["detail"])):
        print(f"    {plain(group['cause'], 160)}")
    if group["advice"]:
        print(f"    {group['advice']}")
    for one in group["repositories"][:_MOST_NAMED]:
        before = "  before this run" if one["before"] else ""
        print(f"    {plain(one['name']):<24}  {one['attempt'] or group['standing']}{before}")
    if (more := group["count"] - _MOST_NAMED) > 0:
        print(f"    and {more} more")


def _next(entries: Sequence[Entry], again: str) -> Iterable[str]:
    bad = [entry for entry in entries if entry.is_bad and entry.attempt]
    held = [entry for entry in entries if entry.standing is Standing.UNKNOWN]
    under_way = [entry for entry in entries if entry.is_under_way]
    if held:
        yield f"fencepost explain {held[0].attempt}"
    if bad:
        yield f"fencepost logs {bad[0].attempt}"
        yield again
    if under_way:
        yield "fencepost attempts list --active"
    if not (bad or held or under_way):
        yield "fencepost pull-requests list"
