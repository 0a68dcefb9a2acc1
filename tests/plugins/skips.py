"""With --fail-on-skip, a skip that tests/allowed-skips.txt does not list is a failure.

A line of that file is a node id, of a test or of a whole file, and after "  # " the reason.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "allowed-skips.txt"
ALLOWED = pytest.StashKey[frozenset[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fail-on-skip", action="store_true", help=f"fail on a skip that {LIST.name} does not list"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fail-on-skip"):
        config.stash[ALLOWED] = read_list(LIST.read_text("utf-8"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # an expected failure is reported as skipped, too; it did run
    if not hasattr(report, "wasxfail"):
        fail_if_skipped(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_if_skipped(collector.config, report)
    return report


def fail_if_skipped(
    config: pytest.Config, report: pytest.TestReport | pytest.CollectReport
) -> None:
    """Turn an unlisted skip into a failure that names itself and its reason."""
    allowed = config.stash.get(ALLOWED, None)
    if allowed is None or not report.skipped or report.nodeid in allowed:
        return
    reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{reason} (tests/{LIST.name} does not list {report.nodeid})"


def read_list(text: str) -> frozenset[str]:
    """The node ids of an allowed-skips file."""
    lines = (line.partition("  # ")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))
