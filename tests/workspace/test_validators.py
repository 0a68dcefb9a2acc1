"""Checks run once each, in the tree, within their limits, and leave evidence."""

from __future__ import annotations

import os
import threading
from datetime import timedelta

import pytest

from app.domain.digest import canonical
from workers.workspace.validators import Check, run_checks

pytestmark = pytest.mark.contract("E08")

LONG = timedelta(seconds=30)


@pytest.fixture
def check(tmp_path):
    """Run checks in a folder."""

    def run(*checks, stop=None, **listeners):
        return run_checks(
            [each if isinstance(each, Check) else Check(each, LONG) for each in checks],
            tree=tmp_path,
            environment={"PATH": os.environ["PATH"]},
            marker={"FENCEPOST_OPERATION": f"check-{os.getpid()}"},
            stop=stop or threading.Event(),
            **listeners,
        )

    return run


def test_each_runs_once_in_the_tree(check, tmp_path):
    """Every check has its turn, also after one that failed, and its evidence is its own."""
    heard = []
    found = check("pwd; echo 1 >>count", "echo bad >&2; exit 4", "true", on_check=heard.append)

    assert [(each.exit, each.cause, each.is_green) for each in found] == [
        (0, "exited", True),
        (4, "exited", False),
        (0, "exited", True),
    ]
    assert found[0].tail == f"{tmp_path}\n"
    assert (found[1].tail, found[1].output_bytes) == ("bad\n", 4)
    assert (tmp_path / "count").read_text() == "1\n"
    assert heard == found


def test_each_has_its_own_limit(check):
    """One that never ends is ended at its limit, and the next still runs."""
    never, after = check(Check("sleep 60", timedelta(milliseconds=200)), "true")

    assert (never.cause, never.is_green, never.exit) == ("deadline", False, None)
    assert never.duration_ms >= 200
    assert after.is_green


def test_a_wish_to_stop_skips_the_rest(check):
    """After stop nothing more is started, and nothing counts as green."""
    stop = threading.Event()
    found = check("echo x; sleep 60", "touch ran", stop=stop, on_output=lambda chunk: stop.set())

    assert [each.cause for each in found] == ["stopped", "stopped"]
    assert not any(each.is_green for each in found)


def test_evidence_is_bounded_and_canonical(check):
    """A noisy check's evidence holds the end of its output, safe to show and to digest."""
    [evidence] = check("head -c 100000 /dev/urandom; printf '\\033[1mend\\377'")

    assert len(evidence.tail.encode()) <= 4096
    assert evidence.tail.endswith("end\ufffd")
    assert evidence.output_bytes == 100000 + 8
    canonical(evidence.as_json())
