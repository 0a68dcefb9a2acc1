"""The revisions of the schema, as every process knows them."""

from __future__ import annotations

import subprocess
import sys

from alembic.script import ScriptDirectory

from app.store import migrate, revision


def test_revisions_are_known_without_what_upgrades_them() -> None:
    """A process that starts reads names of files; they are what Alembic finds in them."""
    script = ScriptDirectory.from_config(migrate._config())

    assert revision.known() == [one.revision for one in script.walk_revisions()][::-1]
    assert revision.head() == script.get_current_head()


def test_no_role_loads_what_upgrades_a_schema() -> None:
    """It would cost each start a third of a second."""
    roles_of_the_fleet = "import app.dispatcher.__main__, workers.__main__, sys"
    loaded = f"{roles_of_the_fleet}; sys.exit('alembic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0
