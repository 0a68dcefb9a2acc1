"""The contract's page is up to date, and every law that has a test has a mutant to prove it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mutation
import pytest
from contract_report import REFRESH

PATCH = """\
# id: L1
# what: an answer is another
# tests: {test}
--- a/app/answer.py
+++ b/app/answer.py
@@ -1,2 +1,2 @@
 def answer():
-    return 42
+    return 43
"""
TESTS = """
from app.answer import answer

def test_looks(): assert answer() == 42
def test_looks_away(): answer()
def test_is_red_anyway(): assert answer() == 41
def test_cannot_begin(nothing): pass
"""


@pytest.fixture(scope="module")
def page(house: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The contract's page as the tests of this clone would have it written now."""
    file = tmp_path_factory.mktemp("contract") / "contract.md"
    collect = ["--collect-only", "-qq", "-p", "no:cacheprovider", f"--contract-page={file}"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *collect],
        cwd=house, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return file.read_text("utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A house of one answer, four tests, and no patch yet."""
    for name in ("app/__init__.py", "workers/__init__.py", "pytest.ini", "docs/contract.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[pytest]\n" if name == "pytest.ini" else "", "utf-8")
    (tmp_path / "app" / "answer.py").write_text("def answer():\n    return 42\n", "utf-8")
    (tmp_path / "tests" / "mutants").mkdir(parents=True)
    (tmp_path / "tests" / "test_answer.py").write_text(TESTS, "utf-8")
    return tmp_path


def test_the_page_of_the_contract_is_up_to_date(house: Path, page: str) -> None:
    """Who proves what is read on a page; after a new mark it is written anew."""
    written = (house / "docs" / "contract.md").read_text("utf-8")

    assert written == page, f"refresh it: {REFRESH}"


def test_every_law_that_has_a_test_has_a_mutant(house: Path, page: str) -> None:
    """A test that no broken line turns red proves nothing: each L and each Q has a patch."""
    lines = mutation.listing(mutation.read_all(house), mutation.proofs(page))

    assert [line for is_fault, line in lines if is_fault] == []


def test_every_mutant_applies_and_its_tests_are_there(house: Path, page: str) -> None:
    """Code moves on and patches must follow: `ops/mutants --check` says the same."""
    assert list(mutation.faults(house, mutation.read_all(house), mutation.proofs(page))) == []


@pytest.mark.parametrize(
    ("test", "code", "said"),
    [
        ("test_looks", 0, "m (L1) → tests/test_answer.py::test_looks "),
        ("test_looks_away", 1, "m (L1) → SURVIVED"),
        ("test_is_red_anyway", 1, "without any mutant: tests/test_answer.py::test_is_red_anyway"),
        ("test_cannot_begin", 1, "without any mutant: no test failed"),
    ],
)
def test_a_mutant_is_noticed_by_a_test_that_fails_for_it_alone(
    small: Path, capsys: pytest.CaptureFixture[str], test: str, code: int, said: str
) -> None:
    """Tests of the copy run on the copy; surviving, red before and not running are failures."""
    patch = small / "tests" / "mutants" / "m.patch"
    patch.write_text(PATCH.format(test=f"tests/test_answer.py::{test}"), "utf-8")

    assert mutation.main([], small) == code

    assert said in capsys.readouterr().out
    assert "42" in (small / "app" / "answer.py").read_text("utf-8")


def test_a_mutant_that_no_longer_fits_is_named(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line that it breaks has moved on, its test was renamed, or cites another id."""
    patch = small / "tests" / "mutants" / "m.patch"
    patch.write_text(
        PATCH.format(test="tests/test_answer.py::test_gone").replace("42", "7"), "utf-8"
    )

    assert mutation.main(["--check"], small) == 1

    said = capsys.readouterr().out
    assert "m.patch no longer applies: error: patch failed: app/answer.py:1" in said
    assert "m.patch: no test tests/test_answer.py::test_gone" in said
    assert "m.patch: none of its tests cites L1" in said


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_mutant_survives(house: Path) -> None:
    """`ops/mutants`: each patch turns one of its tests red."""
    done = subprocess.run(
        [sys.executable, house / "ops" / "mutation.py"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
