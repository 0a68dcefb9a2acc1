"""Ties tests to the contract: `@pytest.mark.contract("M07")`, and a table of who proves what.

The ids and their titles are in contract_ids.txt. A mark that cites another id stops the collection.
The page is written from what is collected; the printed report tells what of it was run and passed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

MARK = "contract"
LIST = Path(__file__).with_name("contract_ids.txt")
#: With `=`: a path of its own would be taken for the tests that are asked for.
REFRESH = "ops/test --collect-only -qq --contract-page=docs/contract.md"
HEAD = f"""# The contract, and what proves it

`{REFRESH}` writes this page from the marks of the tests, long ones included; do not edit it.
Every sentence of the contract has an id. `ops/test --contract-report` prints what of it passes,
and `ops/mutants` breaks the laws (L) and the queue (Q) one by one to see these tests go red.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--contract-report",
        action="store_true",
        help="print each contract id with its passing tests (with --collect-only: its tests)",
    )
    parser.addoption(
        "--contract-page",
        metavar="FILE",
        help="write each contract id with the tests that cite it; needs the whole collection",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ContractReport(read_list(LIST.read_text("utf-8"))))


class ContractReport:
    """Which tests cite each id, and which of them passed."""

    def __init__(self, titles: dict[str, str]) -> None:
        self.titles = titles
        self.marked: dict[str, list[str]] = defaultdict(list)
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
            for name in ids_of(item):
                self.marked[name].append(item.nodeid)
                item.user_properties.append((MARK, name))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for name in ids_of(item):
                self.cited[name].append(item.nodeid)
        place = session.config.getoption("--contract-page")
        if not place or session.testsfailed:
            return
        if session.config.args_source is pytest.Config.ArgsSource.ARGS:
            raise pytest.UsageError("--contract-page=FILE takes all tests: name none")
        Path(place).write_text(page(self.titles, self.marked), "utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for kind, name in report.user_properties:  # several processes: nothing was collected here
            if kind == MARK:
                self.cited[str(name)].append(report.nodeid)
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


def page(titles: dict[str, str], marked: dict[str, list[str]]) -> str:
    """The page of the contract: a line for each id, and the test functions that cite it."""
    lines: list[str] = []
    family = ""
    for name, title in titles.items():
        if name[0] != family:
            family = name[0]
            lines.append("")
        tests = sorted(functions(marked.get(name, [])))
        lines.append(f"- **{name}** {title}: {'' if tests else 'no test yet'}".rstrip())
        lines += [f"  - `{test}`" for test in tests]
    return HEAD + "\n".join(lines) + "\n"


def ids_of(item: pytest.Item) -> list[str]:
    """The contract ids that a test cites, each once."""
    return list(dict.fromkeys(name for mark in item.iter_markers("contract") for name in mark.args))


def functions(node_ids: Iterable[str]) -> set[str]:
    """The test functions of node ids; a function passes with all its parameters or not at all."""
    return {node_id.partition("[")[0] for node_id in node_ids}


def read_list(text: str) -> dict[str, str]:
    """Id → title, in the order of the file."""
    lines = [line.split(maxsplit=1) for line in text.splitlines()]
    return {line[0]: line[1] for line in lines if line and not line[0].startswith("#")}
