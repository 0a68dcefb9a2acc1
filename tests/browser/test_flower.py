"""Flower as an operator uses it, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from fixtures.command import Fencepost
from fixtures.stack import Stack
from fixtures.world import activity_of
from playwright.sync_api import Error, Locator, Page, expect

from app.embedded import valkey
from app.kinds import author


@pytest.fixture
def fencepost(stack: Stack) -> Fencepost:
    """The command line beside the stack."""
    urls = {
        "FENCEPOST_DATABASE_URL": stack.database.app_url,
        "FENCEPOST_REDIS_URL": stack.redis_url,
    }
    return Fencepost(stack.home, urls)


@pytest.fixture
def flower(fencepost: Fencepost) -> Iterator[str]:
    """The address of a Flower beside the stack."""
    port = valkey.free_port()
    process = fencepost.begin("flower", "--port", str(port))
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    print(*process.communicate(timeout=10))  # shown when the test fails


@pytest.mark.contract("Q07")
def test_an_operator_finds_attempts_and_depths(
    stack: Stack, fencepost: Fencepost, flower: str, page: Page, tmp_path: Path
) -> None:
    """Deliveries are found by attempt and by activity; the depths are those of `queues list`."""
    stack.start_dispatcher()
    stack.start_worker()
    wait = f"until [ -e {stack.outside}/go ]; do sleep 0.05; done"
    stack.until(lambda: _shows_a_worker(page, flower), 40)
    attempts = [
        stack.dispatch(f"{stack.counted('author')}; {wait}; echo 'y = 2' >> a.py") for _ in range(6)
    ]
    stack.until(lambda: stack.count("author") == 4)  # as many as the worker has slots
    stack.until(lambda: _depth(stack) == 2)

    fences = {attempt.id: stack.seen(attempt).fence() for attempt in attempts}
    sought = next(attempt for attempt in attempts if fences[attempt.id] > 0)
    other = next(attempt for attempt in attempts if fences[attempt.id] == 0)
    page.goto(f"{flower}/tasks")
    expect(_rows(page)).to_have_count(6)
    page.locator("input[type=search]").fill(sought.id)
    expect(_rows(page)).to_have_count(1)
    expect(_rows(page)).to_contain_text(f"attempt {sought.id}")
    expect(_rows(page)).to_contain_text(author.NAME)
    page.locator("input[type=search]").fill(activity_of(stack.store, other).activity)
    expect(_rows(page)).to_have_count(1)
    expect(_rows(page)).to_contain_text(f"attempt {other.id}")
    expect(_rows(page)).to_contain_text("PENDING")  # it waits in Redis
    page.screenshot(path=tmp_path / "tasks.png")

    page.goto(f"{flower}/broker")
    listed = fencepost("queues", "list", "--json").value["queues"]
    assert _shown_depths(page) == {line["queue"]: line["redis"] for line in listed}
    assert _shown_depths(page)[author.NAME] == 2 == _depth(stack)
    page.screenshot(path=tmp_path / "broker.png")

    (stack.outside / "go").touch()
    seen = [stack.seen(attempt) for attempt in attempts]
    stack.until(lambda: all(one.is_over for one in seen), 60)
    page.goto(f"{flower}/tasks")
    page.locator("input[type=search]").fill(f"kwargs:attempt={sought.id}")
    expect(_rows(page)).to_have_count(2)  # its author, and its pull request
    expect(_rows(page).get_by_text("SUCCESS")).to_have_count(2)
    page.goto(f"{flower}/broker")
    assert set(_shown_depths(page).values()) == {0}


def _shows_a_worker(page: Page, flower: str) -> bool:
    try:
        page.goto(f"{flower}/workers")
    except Error:  # it does not listen yet
        return False
    return page.get_by_text("fencepost-").count() > 0


def _rows(page: Page) -> Locator:
    return page.locator("#tasks-table tbody tr:has(td.text-nowrap)")


def _shown_depths(page: Page) -> dict[str, int]:
    rows = page.locator("#queue-table tbody tr").all()
    cells = [row.locator("td").all_inner_texts() for row in rows]
    return {cell[0]: int(cell[1]) for cell in cells}


def _depth(stack: Stack) -> int:
    with closing(redis.Redis.from_url(stack.redis_url)) as client:
        return int(client.llen(author.NAME))
