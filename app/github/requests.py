"""Pull requests at GitHub, as the control plane and people look at them; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from app.domain.digest import text
from app.domain.errors import NotFound, RemoteUnreadable
from app.domain.pull_request import RequestState
from app.github.answer import trouble_of
from app.github.hub import Repository

_OURS = "<!-- fencepost operation="
_MOST_PAGES = 5  #: of the newest requests, a hundred each
_DIFF = "application/vnd.github.diff"


@dataclass(frozen=True, slots=True)
class Shown:
    """A request as it stands; the names are those of the local forge's."""

    number: int
    state: RequestState
    title: str
    body: str
    head: str  #: branch
    head_sha: str
    base: str  #: branch
    base_sha: str
    merged_sha: str | None
    opened_at: int  #: seconds since the epoch, by GitHub's clock
    url: str


def request(at: Repository, number: int) -> Shown:
    """One request; asking again costs nothing where nothing is new. NotFound."""
    answer = at.news(f"{at.root}/pulls/{number}")
    if answer.status == 404:
        raise NotFound(f"{at.address} has no request #{number}")
    if not answer.is_good:
        raise trouble_of(answer, f"a look at request #{number}")
    return _shown(answer.value)


def tip(at: Repository, branch: str) -> str | None:
    """The commit of a branch, if it is there; asked again it costs nothing either."""
    answer = at.news(f"{at.root}/git/ref/heads/{quote(branch)}")
    if answer.status == 404:
        return None
    if not answer.is_good:
        raise trouble_of(answer, f"a look at branch {branch}")
    try:
        return str(answer.value["object"]["sha"])
    except (KeyError, TypeError) as fault:
        raise RemoteUnreadable(f"GitHub's answer about {branch} cannot be read") from fault


def ours(at: Repository) -> Sequence[Shown]:
    """The newest requests that carry a marker of ours, newest first."""
    asked = {"state": "all", "sort": "created", "direction": "desc"}
    pages = at.pages(f"{at.root}/pulls", asked, most=_MOST_PAGES)
    return [
        _shown(one) for page in pages for one in page.value
        if isinstance(one, Mapping) and _OURS in str(one.get("body") or "")
    ]  # fmt: skip


def diff(at: Repository, number: int) -> bytes:
    """What a request changes, as GitHub shows it."""
    return at.text(f"{at.root}/pulls/{number}", _DIFF).encode()


def _shown(value: Any) -> Shown:
    try:
        is_merged = value["merged_at"] is not None
        closed = RequestState.MERGED if is_merged else RequestState.CLOSED
        opened = datetime.fromisoformat(str(value["created_at"]))
        return Shown(
            int(value["number"]), RequestState.OPEN if value["state"] == "open" else closed,
            text(value["title"]), text(value["body"] or ""),
            text(value["head"]["ref"]), str(value["head"]["sha"]),
            text(value["base"]["ref"]), str(value["base"]["sha"]),
            value["merge_commit_sha"] if is_merged else None,
            int(opened.timestamp()), text(value["html_url"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as fault:
        raise RemoteUnreadable(f"GitHub shows a request that cannot be read: {fault!r}") from fault
