"""The reader's repository may hold modules named like ours; none of them is ever imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.stack import Stack, a_repository

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
