"""The reader's repository may hold modules named like ours; none of them is ever imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.role import naming
from fixtures.stack import Stack, a_repository

from app.embedded import servers

#: What Python, Celery or pytest would import from the working directory, were it on the path.
TRAPS = (
    "app/__init__.py", "app/config.py", "workers/__init__.py", "workers/__main__.py",
    "workers/workspace/supervisor.py", "celery.py", "celeryconfig.py", "redis.py", "psycopg.py",
    "sitecustomize.py", "usercustomize.py", "conftest.py", "json.py", "git/__init__.py",
)  # fmt: skip


@pytest.fixture
def trapped(stack: Stack, tmp_path: Path) -> Path:
    """A repository full of traps: whoever imports one writes its name outside."""
    spring = f"open({str(stack.outside / 'fooled')!r}, 'a').write(__file__ + chr(10))\n"
    return a_repository(tmp_path / "trapped", {"a.py": "x = 1\n"} | dict.fromkeys(TRAPS, spring))


def test_the_roles_run_from_and_on_such_a_repository(
    stack: Stack, trapped: Path, work: str
) -> None:
    """Dispatcher, worker and supervisor take every module from their own installation."""
    stack.source = trapped
    stack.start_dispatcher(directory=trapped)
    stack.start_worker(directory=trapped)

    seen = stack.seen(stack.dispatch(work, "test -e sitecustomize.py"))

    stack.until(lambda: seen.is_over)
    assert seen.outcome == "done", stack.logs()
    assert not (stack.outside / "fooled").exists()


def test_fencepost_run_stands_in_such_a_repository(
    stack: Stack, trapped: Path, tmp_path: Path, work: str
) -> None:
    """The command line, its stack and its servers' helpers are not fooled either; nothing stays."""
    home = tmp_path / "cli-home"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FENCEPOST_HOME": str(home)}
    fencepost = Path(sys.executable).with_name("fencepost")
    try:
        done = subprocess.run(
            [fencepost, "run", "--check", "test -e sitecustomize.py", "--", "sh", "-c", work],
            cwd=trapped, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert stack.count("author") == 1
        assert not (stack.outside / "fooled").exists()
        stack.until(lambda: not naming(home), 15)
    finally:
        servers.destroy(home)


@pytest.mark.parametrize("trap", ["celery.py", "workers/__init__.py", "sitecustomize.py"])
def test_the_traps_are_set(stack: Stack, trapped: Path, trap: str) -> None:
    """Without -P the same modules would be imported, so the tests above can fail."""
    module = trap.removesuffix("/__init__.py").removesuffix(".py")
    environment = {"PYTHONPATH": "."} if module == "sitecustomize" else {}

    subprocess.run(
        [sys.executable, "-c", f"import {module}"], cwd=trapped, env=environment, check=True
    )

    assert (trapped / trap).as_posix() in (stack.outside / "fooled").read_text()
