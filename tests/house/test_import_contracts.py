"""The import contracts hold, and bite."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as main; main()"


@pytest.fixture
def copy(house: Path, tmp_path: Path) -> Path:
    """A copy of the source tree that a test may spoil."""
    for package in ("app", "workers"):
        shutil.copytree(
            house / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(house / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    # without -P, so that the copy comes before the installed package
    command = [sys.executable, "-c", LINT_IMPORTS, "--no-cache"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def test_the_tree_keeps_its_contracts(copy: Path) -> None:
    """Every contract is kept as the tree stands."""
    verdict = lint_imports(copy)

    assert verdict.returncode == 0, verdict.stdout + verdict.stderr


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("app/domain/intruder.py", "import app.kinds", "the layers of app"),
        ("app/store/intruder.py", "import app.broker", "the layers of app"),
        ("app/unlisted.py", "", "the layers of app"),
        ("workers/unlisted.py", "", "the layers of workers"),
        ("workers/workspace/intruder.py", "import workers.executors", "the layers of workers"),
        ("workers/forges/intruder.py", "import workers.executors", "the layers of workers"),
        ("app/transitions/intruder.py", "import workers", "workers act, app decides"),
        ("app/transitions/intruder.py", "import sqlalchemy", "only the store speaks SQL"),
        ("workers/workspace/intruder.py", "import alembic", "only the store speaks SQL"),
        (
            "app/dispatcher/intruder.py",
            "import psycopg",
            "only the store and the embedded servers know the driver",
        ),
        (
            "app/transitions/intruder.py",
            "import celery",
            "only the broker and the edges know Celery",
        ),
        (
            "workers/executors/intruder.py",
            "from kombu import Queue",
            "only the broker and the edges know Celery",
        ),
        (
            "workers/executors/intruder.py",
            "import github",
            "only the client of GitHub knows PyGithub",
        ),
        (
            "workers/executors/intruder.py",
            "import app.transitions.approve",
            "an executor holds no authority",
        ),
        (
            "workers/executors/intruder.py",
            "import workers.forges",
            "an executor holds no authority",
        ),
        (
            "app/domain/intruder.py",
            "import redis",
            "the domain uses only the standard library",
        ),
    ],
)
def test_a_forbidden_import_breaks_its_contract(
    copy: Path, module: str, statement: str, contract: str
) -> None:
    """A contract that no import can break protects nothing."""
    (copy / module).write_text(statement + "\n", "utf-8")

    verdict = lint_imports(copy)

    assert verdict.returncode == 1, verdict.stdout + verdict.stderr
    assert f"{contract} BROKEN" in verdict.stdout


def test_a_circle_breaks_its_contract(copy: Path) -> None:
    """Two modules of one room that import each other are one module in two files."""
    (copy / "app" / "kinds" / "chicken.py").write_text("import app.kinds.egg\n", "utf-8")
    (copy / "app" / "kinds" / "egg.py").write_text("import app.kinds.chicken\n", "utf-8")

    assert "no circles BROKEN" in lint_imports(copy).stdout


def test_no_contract_has_a_list_of_exceptions(house: Path) -> None:
    """An ignored import is a broken contract that nobody sees."""
    contracts = tomllib.loads((house / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]

    assert [c["name"] for c in contracts["contracts"] if any("ignore" in key for key in c)] == []
