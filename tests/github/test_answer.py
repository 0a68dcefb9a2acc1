"""Every form in which GitHub names a time, and everything that is no limit."""

from __future__ import annotations

from datetime import timedelta

import pytest
from doubles.github import limits

from app.github.answer import Answer, limit_of

NOW = 1_800_000_000.0
DATE = {"date": "Fri, 15 Jan 2027 08:00:00 GMT"}

pytestmark = pytest.mark.contract("G04")


def an_answer(status: int, message: str = "No", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, DATE | named, {"message": message})


@pytest.mark.parametrize("form", limits.NAMES)
def test_every_form_of_a_limit_is_known(form: str) -> None:
    """The time is what the form names; a minute where it names none."""
    said = limits.answer(form, NOW, 240, "R")
    headers = DATE | {name.lower(): value for name, value in said.headers.items()}
    body = said.body if isinstance(said.body, dict) else None
    page = said.body.decode() if isinstance(said.body, bytes) else ""

    wait = limit_of(Answer(said.status, headers, body, page))

    named = timedelta(seconds=240), timedelta(seconds=241)
    assert wait in named or wait == timedelta(seconds=60)
    assert (wait in named) == bool({"Retry-After", "X-RateLimit-Reset"} & set(said.headers))


@pytest.mark.contract("Q13")
def test_times_are_counted_by_githubs_own_clock() -> None:
    """A host whose clock is wrong waits no longer and no shorter."""
    reset = str(int(NOW) + 90)

    wait = limit_of(an_answer(403, x_ratelimit_remaining="0", x_ratelimit_reset=reset))

    assert wait == timedelta(seconds=91)


@pytest.mark.parametrize(
    "answer",
    [
        an_answer(403, "Resource not accessible by integration"),
        an_answer(403, "Must have admin rights", x_ratelimit_remaining="4999"),
        an_answer(404, x_ratelimit_remaining="0"),
        an_answer(422, "Validation Failed"),
        an_answer(500, "rate limit", retry_after="3"),
        an_answer(201, retry_after="3"),
    ],
)
def test_what_is_no_limit_is_not_waited_for(answer: Answer) -> None:
    """A missing permission is told at once; a broken answer proves nothing."""
    assert limit_of(answer) is None


@pytest.mark.parametrize("said", ["soon", "-5", "", "1e9", "99999999999999999999999"])
def test_a_time_that_makes_no_sense_is_a_minute_or_a_day(said: str) -> None:
    """Whatever stands there, the wait is one that the database takes."""
    wait = limit_of(an_answer(429, retry_after=said))

    assert wait in (timedelta(seconds=60), timedelta(hours=23))


def test_a_time_that_is_over_is_a_second() -> None:
    """No wait is nothing, or slots would spin."""
    assert limit_of(an_answer(429, retry_after="0")) == timedelta(seconds=1)
