"""What every forge must show of a request and its checks (G08, O10)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.test_forge import DRAFT, STANDS, Stand

from app.domain.errors import RemoteUnreadable
from app.domain.pull_request import RequestState

pytestmark = pytest.mark.contract("G08", "O10")


@pytest.fixture(params=sorted(STANDS))
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stand]:
    """Each forge in turn."""
    one = STANDS[request.param](tmp_path)
    yield one
    one.close()


@pytest.fixture
def opened(stand: Stand) -> tuple[int, str]:
    """A request, and the commit that it proposes."""
    head = stand.push("work", stand.push("main", None))
    return stand.forge.create(DRAFT).number, head


def test_a_request_is_seen_with_its_head(stand: Stand, opened: tuple[int, str]) -> None:
    """Open, at the commit that was published, and without checks that nobody made."""
    seen = stand.forge.sight(*opened)

    assert (seen.request, seen.head_sha, list(seen.checks)) == (RequestState.OPEN, opened[1], [])
    assert stand.forge.checks_grace.total_seconds() >= 0


def test_a_closed_one_is_closed(stand: Stand, opened: tuple[int, str]) -> None:
    """Its checks count no longer; that is for others to say."""
    stand.end(opened[0])

    assert stand.forge.sight(*opened).request is RequestState.CLOSED


def test_a_merged_one_is_merged(stand: Stand, opened: tuple[int, str]) -> None:
    """At the head that was merged."""
    stand.merge(opened[0])

    seen = stand.forge.sight(*opened)

    assert (seen.request, seen.head_sha) == (RequestState.MERGED, opened[1])


def test_a_head_that_moved_is_seen(stand: Stand, opened: tuple[int, str]) -> None:
    """Somebody has pushed to the branch: the request is at another commit than the one asked."""
    moved = stand.push("work", opened[1])
    assert moved != opened[1]

    assert stand.forge.sight(*opened).head_sha == moved


def test_a_request_that_is_not_there_proves_nothing(stand: Stand, opened: tuple[int, str]) -> None:
    """It may be seen a moment later."""
    with pytest.raises(RemoteUnreadable):
        stand.forge.sight(opened[0] + 90, opened[1])
