"""The plugins of the house: skips that fail, contract ids that exist, long tests on request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.contract("L2", "M07")
@pytest.mark.parametrize("number", [1, 2])
def test_proves(number):
    pass

@pytest.mark.contract("M07")
@pytest.mark.parametrize("number", [1, 2])
def test_proves_half(number):
    assert number == 1

def test_skips():
    pytest.skip("no server here")

@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    assert False

@pytest.mark.long
def test_long():
    pass
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with a few tests, apart from the house's own."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  contract\n  long\n", "utf-8")
    (tmp_path / "test_small.py").write_text(TESTS, "utf-8")
    return tmp_path


def run_pytest(folder: Path, house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    plugins = ["-p", "skips", "-p", "contract_report", "-p", "long_tests"]
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *plugins, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(house / "tests" / "plugins"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("processes", [[], ["--numprocesses", "2"]], ids=["alone", "by two"])
def test_unlisted_skip_fails_and_gives_its_reason(
    small: Path, house: Path, processes: list[str]
) -> None:
    """What CI did not run, CI did not pass; an expected failure did run."""
    done = run_pytest(small, house, "--fail-on-skip", "-k", "skips or expected", *processes)

    assert done.returncode == 1
    assert "no server here (tests/allowed-skips.txt does not list test_small.py::test_skips)" in (
        done.stdout
    )
    assert "1 failed" in done.stdout.splitlines()[-1]


def test_whole_file_that_skips_fails(small: Path, house: Path) -> None:
    """A skip at import hides every test of its file."""
    (small / "test_small.py").write_text(
        "import pytest\npytest.skip('all of it', allow_module_level=True)\n", "utf-8"
    )

    assert run_pytest(small, house).returncode == 5
    assert run_pytest(small, house, "--fail-on-skip").returncode == 2


@pytest.mark.parametrize("processes", [[], ["--numprocesses", "2"]], ids=["alone", "by two"])
def test_report_names_only_what_passed(small: Path, house: Path, processes: list[str]) -> None:
    """A test whose parameters passed by half proves nothing."""
    lines = run_pytest(small, house, "--contract-report", *processes).stdout.splitlines()

    (m07,) = [line for line in lines if line.startswith("M07  ")]
    assert m07.endswith(": test_small.py::test_proves")


def test_report_of_a_collection_names_what_cites(small: Path, house: Path) -> None:
    """Without running anything the table shows who would prove what."""
    lines = run_pytest(small, house, "--contract-report", "--collect-only").stdout.splitlines()

    (m07,) = [line for line in lines if line.startswith("M07  ")]
    assert m07.endswith(": test_small.py::test_proves, test_small.py::test_proves_half")


def test_page_of_a_part_of_the_tests_is_refused(small: Path, house: Path) -> None:
    """Written from one file it would say that nothing else is proved."""
    page = small / "page.md"
    asked = ["--collect-only", f"--contract-page={page}"]

    part = run_pytest(small, house, *asked, "test_small.py")
    whole = run_pytest(small, house, *asked, "-k", "nothing")

    assert part.returncode == 4
    assert whole.returncode == 5
    assert (
        "- **L2** the database refuses a stale worker's rows:\n  - `test_small.py::test_proves`"
        in (page.read_text("utf-8"))
    )


def test_unknown_contract_id_stops_the_collection(small: Path, house: Path) -> None:
    """A mistyped id would be a proof of nothing that looks like one."""
    (small / "test_small.py").write_text(TESTS.replace("L2", "L99"), "utf-8")

    done = run_pytest(small, house, "-k", "skips")

    assert done.returncode == 4
    assert "cites 'L99'" in done.stderr


def test_long_tests_run_only_on_request(small: Path, house: Path) -> None:
    """Soak and sweep are asked for by name of the option."""
    usual = run_pytest(small, house, "-k", "long")
    asked = run_pytest(small, house, "-k", "long", "--long")

    assert usual.returncode == 5
    assert "1 passed" in asked.stdout
