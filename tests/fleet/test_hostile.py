"""Commands that do to their checkout what one should not do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

import pytest
from fixtures.stack import Stack

from app.domain.digest import Json, parse


def frictions(observation: bytes | None) -> list[str]:
    """The codes of what was wrong."""
    value = cast("Mapping[str, list[Mapping[str, Json]]]", parse(observation or b"{}"))
    return [str(friction["code"]) for friction in value["frictions"]]


@pytest.mark.contract("E01", "E03", "L9")
@pytest.mark.parametrize(
    "how",
    [
        'rm -rf "$PWD"',
        'tree=$PWD; cd /; mv "$tree" "$tree.old"; ln -s "$OUTSIDE" "$tree"',
        'tree=$PWD; cd /; mv "$tree" "$tree.old"; cp -r "$tree.old" "$tree"',
    ],
    ids=["gone", "a link to somebody's folder", "another folder"],
)
def test_a_command_that_takes_its_checkout_away_fails_once(stack: Stack, how: str) -> None:
    """It would do the same again: one run, one failure with a code, no poison; nothing is read."""
    command = f"OUTSIDE={stack.outside}; {stack.counted('author')}; {how}"
    seen = stack.seen(stack.dispatch(command))
    stack.build()
    stack.until(lambda: seen.outcome)

    assert (seen.outcome, stack.count("author")) == ("failed", 1)
    assert "checkout_destroyed" in frictions(seen.observation())
    assert seen.requests == []


@pytest.mark.contract("E06", "Q09")
def test_a_command_that_kills_its_supervisor_is_begun_anew_once(stack: Stack) -> None:
    """The first time somebody else may have done it. The second is its failure, and says so."""
    seen = stack.seen(stack.dispatch(f"{stack.counted('author')}; kill -9 $PPID; sleep 600"))
    stack.build()
    stack.until(lambda: seen.outcome)

    assert (seen.outcome, stack.count("author"), seen.requests) == ("failed", 2, [])
    assert frictions(seen.observation())[0] == "supervisor_killed"


@pytest.mark.contract("E06")
def test_a_command_that_freezes_its_supervisor_gets_no_more_time(stack: Stack) -> None:
    """The worker has the deadline too; it is one run, and the reason is told as it is."""
    freeze = f"{stack.counted('author')}; kill -STOP $PPID; sleep 600"
    seen = stack.seen(stack.dispatch(freeze, limit=timedelta(seconds=1)))
    stack.build()
    stack.until(lambda: seen.outcome, 60)

    assert (seen.outcome, stack.count("author")) == ("failed", 1)
    assert frictions(seen.observation())[0] == "deadline_exceeded"


@pytest.mark.contract("A09", "E03")
def test_the_evidence_counts_every_file_and_names_the_first(stack: Stack) -> None:
    """A list may be cut short; a count may not."""
    seen = stack.seen(stack.dispatch("for i in $(seq 2500); do echo $i > n$i; done"))
    stack.build()
    stack.until(lambda: seen.outcome)

    candidate = cast("Mapping[str, Mapping[str, Json]]", parse(seen.observation() or b""))
    assert candidate["candidate"]["file_count"] == 2500
    assert "### Changed files (2500)" in seen.requests[0].body
