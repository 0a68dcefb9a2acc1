"""Ties tests to the contract: `@pytest.mark.contract("M07")`, and a table of who proves what.

The ids and their titles are in contract_ids.txt. A mark that cites another id stops the collection.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("contract_ids.txt")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--contract-report",
        action="store_true",
        help="print each contract id with its passing tests (with --collect-only: its tests)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ContractReport(read_list(LIST.read_text("utf-8"))))


class ContractReport:
    """Which tests cite each id, and which of them passed."""

    def __init__(self, titles: dict[str, str]) -> None:
        self.titles = titles
        self.cited: dict[str, list[str]] = defaultdict(list)
        self.failed: set[str] = set()
        self.passed: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # first of all, so that an unknown id is refused also in a test that is deselected
        for item in items:
            for mark in item.iter_markers("contract"):
                unknown = [name for name in mark.args if name not in self.titles]
                if unknown or not mark.args:
                    cites = ", ".join(map(repr, unknown)) or "nothing"
                    raise pytest.UsageError(f"{item.nodeid} cites {cites}: see {LIST.name}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for name in dict.fromkeys(
                n for mark in item.iter_markers("contract") for n in mark.args
            ):
                self.cited[name].append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed.add(report.nodeid)
        elif report.failed:
            self.failed.add(report.nodeid)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        if not config.getoption("--contract-report"):
            return
        collected = bool(config.getoption("collectonly"))
        terminalreporter.section(
            "contract: " + ("collected tests" if collected else "passing tests")
        )
        proved = 0
        for name, title in self.titles.items():
            tests = functions(self.cited[name])
            if not collected:
                tests -= functions(set(self.cited[name]) - (self.passed - self.failed))
            proved += bool(tests)
            terminalreporter.line(f"{name}  {title}: {', '.join(sorted(tests)) or '-'}")
        terminalreporter.line(f"{proved} of {len(self.titles)} ids have one")


def functions(node_ids: Iterable[str]) -> set[str]:
    """The test functions of node ids; a function passes with all its parameters or not at all."""
    return {node_id.partition("[")[0] for node_id in node_ids}


def read_list(text: str) -> dict[str, str]:
    """Id → title, in the order of the file."""
    lines = [line.split(maxsplit=1) for line in text.splitlines()]
    return {line[0]: line[1] for line in lines if line and not line[0].startswith("#")}
