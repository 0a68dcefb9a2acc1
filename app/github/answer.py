"""What GitHub answered, and what follows from it for whoever only asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from app.domain.errors import ForgeRefused, ProviderError, RemoteUnreadable
from app.domain.pull_request import ForgeLimited

#: What GitHub asks for where a limit names no time.
_A_MINUTE = timedelta(seconds=60)
_LONGEST = timedelta(hours=23)  #: the database takes no pause longer than a day
_OF_A_LIMIT = re.compile(
    r"rate limit|too many requests|abuse detection|submitted too quickly", re.IGNORECASE
)
#: GitHub shows what a credential may not see as if it were not there.
_HINTS = {
    401: "the credential is wrong, revoked or has run out: set another (docs/github.md)",
    404: "see that it is there, and that the credential may see it (docs/github.md)",
}
_LONGEST_REASON = 300
_LONGEST_PAGE = 4000


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    value: Any  #: the parsed body; None where it is not JSON
    body: str = ""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def reason(self) -> str:
        """What it says for people, with what it says of each field."""
        said = self.value if isinstance(self.value, Mapping) else {}
        words = [str(said.get("message") or f"HTTP {self.status}")]
        errors = said.get("errors")
        for one in errors if isinstance(errors, list) else []:
            words.append(_told(one))
        return f"{self.status}: {'; '.join(words)}"[:_LONGEST_REASON]


def limit_of(answer: Answer) -> timedelta | None:
    """How long a limited caller is to wait; None: it was not limited (G04).

    A limit is a 429, or a 403 that names a time, has nothing remaining, or says so in words: the
    primary and the secondary ones come in each of these forms. Times are counted by GitHub's own
    clock, as the answer gives it.
    """
    if answer.status not in (403, 422, 429):
        return None
    headers = answer.headers
    after = _after(headers.get("retry-after"), _now(answer))
    is_spent = headers.get("x-ratelimit-remaining") == "0"
    words = answer.reason if answer.value is not None else answer.body[:_LONGEST_PAGE]
    says_so = _OF_A_LIMIT.search(words) is not None
    if answer.status == 422:
        return _A_MINUTE if "submitted too quickly" in answer.reason.lower() else None
    if answer.status == 403 and after is None and not is_spent and not says_so:
        return None
    if after is None and is_spent:
        after = _until(headers.get("x-ratelimit-reset"), _now(answer))
    return min(max(_A_MINUTE if after is None else after, timedelta(seconds=1)), _LONGEST)


def trouble_of(answer: Answer, what: str) -> ProviderError:
    """Why a look was in vain: limited, not allowed, or nothing that is known."""
    wait = limit_of(answer)
    if wait is not None:
        return ForgeLimited(f"GitHub limits {what}: {answer.reason}", wait)
    if answer.status in (401, 403, 404, 410, 451):
        return ForgeRefused(
            f"GitHub refuses {what}: {answer.reason}",
            hint=_HINTS.get(answer.status, "`fencepost doctor --repo URL` says what it may do"),
        )
    return RemoteUnreadable(f"GitHub does not answer {what}: {answer.reason}")


def _told(error: object) -> str:
    if not isinstance(error, Mapping):
        return str(error)
    told = error.get("message") or f"{error.get('field')} {error.get('code')}"
    return str(told)


def _now(answer: Answer) -> datetime:
    """GitHub's time: a host whose clock is wrong waits no longer for it (Q13)."""
    return _date(answer.headers.get("date")) or datetime.now(UTC)


def _after(said: str | None, now: datetime) -> timedelta | None:
    if said is None:
        return None
    if (seconds := _seconds(said)) is not None:
        return timedelta(seconds=seconds)
    date = _date(said)
    return None if date is None else date - now


def _until(said: str | None, now: datetime) -> timedelta | None:
    epoch = None if said is None else _seconds(said)
    if epoch is None:
        return None
    # a second more: it is not said at which instant of that second
    return timedelta(seconds=min(epoch - now.timestamp(), _LONGEST.total_seconds()) + 1)


def _seconds(said: str) -> float | None:
    return min(float(said), 1e11) if re.fullmatch(r"\d{1,18}(\.\d{1,9})?", said.strip()) else None


def _date(said: str | None) -> datetime | None:
    try:
        found = None if said is None else parsedate_to_datetime(said)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found
