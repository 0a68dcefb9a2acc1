"""The revisions of the schema, as every process knows them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from alembic.script import ScriptDirectory

from app.store import migrate, revision


def test_revisions_are_known_without_what_upgrades_them() -> None:
    """A process that starts reads names of files; they are what Alembic finds in them."""
    script = ScriptDirectory(str(migrate.SCRIPTS))

    assert revision.known() == [one.revision for one in script.walk_revisions()][::-1]
    assert revision.head() == script.get_current_head()


@pytest.mark.parametrize(
    "program", ["app.dispatcher.__main__", "workers.__main__", "app.cli.status", "app.cli.run"]
)
def test_nothing_but_an_upgrade_loads_what_upgrades(program: str) -> None:
    """It would cost each start and each command a third of a second."""
    loaded = f"import {program}, sys; sys.exit('alembic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0
