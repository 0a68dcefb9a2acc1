"""The main job on a real library: a codemod over its package, its own tests as the check."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from real_library import git, make_repository

RUFF = str(Path(sys.executable).with_name("ruff"))
CODEMOD = (RUFF, "format", "--quiet", "--line-length", "79", "src")
CHECK = f"PYTHONPATH=src {sys.executable} -m pytest -q -p no:cacheprovider tests/test_lists.py"


@pytest.mark.contract("O10", "E03", "E08", "A09")
def test_the_request_holds_exactly_the_codemods_diff(
    up: Fencepost, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A reviewer sees what the codemod did by hand would show, and the evidence for it."""
    library = make_repository(request.config.rootpath / ".fencepost/sources", tmp_path / "lib")
    by_hand = Path(shutil.copytree(library, tmp_path / "by-hand"))
    subprocess.run(CODEMOD, cwd=by_hand, check=True)
    expected = git(by_hand, "diff", "HEAD")

    said = up("run", "--json", "--path", "src/**", "--check", CHECK, "--", *CODEMOD, at=library)

    assert said.code == 0, said.err
    summary = said.lines[-1]
    named = f"{summary['repository']['id']}:{summary['pull_request']['number']}"
    shown = up("pull-requests", "show", named, "--json")
    mirror, branch = summary["pull_request"]["url"].partition("#")[0], summary["branch"]
    git(library, "fetch", "--quiet", mirror, branch)
    assert expected
    assert git(library, "diff", "HEAD", "FETCH_HEAD") == expected
    body = shown.value["body"]
    assert "### Changed files (5)" in body
    assert f"`{CHECK}`: exit 0" in body
    assert git(library, "rev-parse", "HEAD") in body
    assert git(library, "status", "--porcelain") == ""
