"""What GitHub shows of a commit's checks, by reads that cost nothing where nothing is new (G04).

Each answer is kept in the memory of the process that asked, reduced to what counts here. It is not
kept in Postgres: it decides nothing, another process pays for one whole read and no more, and what
a credential has read stays with that credential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from app.domain.checks import GOOD, Check, Sighting, Source
from app.domain.errors import RemoteUnreadable
from app.domain.pull_request import RequestState
from app.github.answer import Answer, trouble_of
from app.github.hub import Repository
from app.github.pace import pause_of

_MOST_PAGES = 20
_PAGE = "per_page=100"
_ACTIONS = "github-actions"


def sight(at: Repository, number: int, sha: str, own: str) -> Sighting:
    """A request, and every check of a commit but our own status.

    RemoteUnreadable where it is not there or cannot be read; ForgeLimited, ForgeRefused.
    """
    looks = _Looks(at)
    root = f"/repos/{quote(looks.one(f'/repos/{at.address}', _name))}"
    state, head = looks.one(f"{root}/pulls/{number}", _request)
    commit = f"{root}/commits/{sha}"
    checks = [
        *looks.every(f"{commit}/check-runs?filter=latest&{_PAGE}", _runs),
        *looks.every(f"{commit}/check-suites?{_PAGE}", _suites),
        *(one for one in looks.every(f"{commit}/status?{_PAGE}", _statuses) if one.name != own),
    ]
    return Sighting(state, head, checks, looks.pause)


class _Looks:
    """Some conditional reads, and the longest pause that an answer asked for."""

    def __init__(self, at: Repository) -> None:
        self._at = at
        self.pause = timedelta(0)

    def every(self, path: str, read: Callable[[Any], list[Check]]) -> Iterator[Check]:
        """What all pages of a list hold."""
        for page in range(1, _MOST_PAGES + 1):
            answer = self._news(f"{path}&page={page}", read)
            yield from answer.value
            if 'rel="next"' not in answer.headers.get("link", ""):
                return
        raise RemoteUnreadable(f"GitHub shows more than {_MOST_PAGES} pages of {path}")

    def one(self, path: str, read: Callable[[Any], Any]) -> Any:
        """What is at a path."""
        return self._news(path, read).value

    def _news(self, path: str, read: Callable[[Any], Any]) -> Answer:
        """The whole answer, or the one that a 304 stands for; its value is what was read in it."""
        place = f"checks {path}"
        before = self._at.hub.kept(place)
        answer = self._at.get(path, etag=before.headers.get("etag") if before else None)
        self.pause = max(self.pause, pause_of(answer))
        if answer.status == 304 and before is not None:
            return before
        if answer.status in (404, 409, 422):  # what was made a moment ago is not seen everywhere
            raise RemoteUnreadable(f"GitHub does not show {path}: {answer.reason}")
        if not answer.is_good:
            raise trouble_of(answer, f"a look at {path}")
        try:
            value = read(answer.value)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise RemoteUnreadable(f"GitHub's answer about {path} is unfit: {fault!r}") from fault
        named = {name: answer.headers[name] for name in ("etag", "link") if name in answer.headers}
        reduced = Answer(answer.status, named, value)
        if "etag" in named:
            self._at.hub.keep(place, reduced)
        return reduced


def _name(value: Any) -> str:
    return str(value["full_name"])


def _request(value: Any) -> tuple[RequestState, str]:
    if value["state"] == "open":
        return RequestState.OPEN, str(value["head"]["sha"])
    is_merged = bool(value.get("merged") or value.get("merged_at"))
    state = RequestState.MERGED if is_merged else RequestState.CLOSED
    return state, str(value["head"]["sha"])


def _runs(value: Any) -> list[Check]:
    return [
        Check(
            str(one["name"]), Source.CHECK_RUN, str(one["status"]), _concluded(one),
            str(one.get("html_url") or one.get("details_url") or ""),
        )
        for one in value["check_runs"]
    ]  # fmt: skip


def _suites(value: Any) -> list[Check]:
    """Those that say more than their runs: more runs are to come, or there will be none.

    GitHub makes a suite for every App that may write checks, also for those that never will; one
    of Actions is made for a run of a workflow, and its first job may be a while in coming.
    """
    found = []
    for one in value["check_suites"]:
        conclusion, runs = _concluded(one), int(one.get("latest_check_runs_count") or 0)
        app: Mapping[str, Any] = one.get("app") or {}
        goes_on = conclusion is None and (runs > 0 or app.get("slug") == _ACTIONS)
        if goes_on or (not runs and conclusion not in (None, *GOOD)):
            name = f"suite of {app.get('slug') or one['id']}"
            found.append(
                Check(name, Source.SUITE, str(one["status"]), conclusion, str(one.get("url") or ""))
            )
    return found


def _statuses(value: Any) -> list[Check]:
    return [
        Check(
            str(one["context"]), Source.STATUS, str(one["state"]),
            None if one["state"] == "pending" else str(one["state"]),
            str(one.get("target_url") or ""),
        )
        for one in value["statuses"]
    ]  # fmt: skip


def _concluded(value: Any) -> str | None:
    """How it ended; what is completed without a word is bad."""
    return str(value.get("conclusion") or "unknown") if value["status"] == "completed" else None
