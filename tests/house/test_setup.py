"""ops/setup says what is missing, heals what was interrupted, and is cheap when all is well."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def clone(house: Path, tmp_path: Path) -> Path:
    """A clone in a folder whose name has a space, without a .venv."""
    clone = tmp_path / "my clone"
    shutil.copytree(house / "ops", clone / "ops", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(house / name, clone)
    for package in ("app", "workers"):
        (clone / package).mkdir()
        (clone / package / "__init__.py").touch()
    return clone


def setup(clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(clone / "ops" / "setup")]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


def test_shim_that_does_not_run_is_no_python(clone: Path, tmp_path: Path) -> None:
    """A name on PATH proves nothing: pyenv leaves shims for versions that are not there."""
    shim = program(tmp_path, "python3.13", "echo 'pyenv: command not found' >&2; exit 127")

    done = setup(clone, FENCEPOST_PYTHON=shim)

    assert done.returncode == 1
    assert "found no Python 3.11, 3.12 or 3.13 that runs" in done.stderr
    assert not (clone / ".venv").exists()


def test_python_without_ensurepip_names_its_package(clone: Path, tmp_path: Path) -> None:
    """Debian ships Python without venv: the message is the command that mends it."""
    script = f'case "$*" in *ensurepip*) echo unable;; *) exec "{sys.executable}" "$@";; esac'
    bare = program(tmp_path, "python3", script)

    done = setup(clone, FENCEPOST_PYTHON=bare)

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert done.returncode == 1
    assert f"apt-get install python{version}-venv" in done.stderr


def test_failing_pip_is_shown_and_leaves_no_stamp(clone: Path) -> None:
    """What pip said is shown with what to do, and the next run starts again."""
    nowhere = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}

    done = setup(clone, FENCEPOST_PYTHON=sys.executable, **nowhere)

    assert done.returncode == 1
    assert "No matching distribution found" in done.stderr
    assert "run it again" in done.stderr
    assert not (clone / ".venv" / "stamp").exists()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_two_at_once_and_a_broken_one_end_in_one_good_venv(clone: Path) -> None:
    """Set-ups of one clone take turns, and one that was killed half-way is made anew."""
    (clone / ".venv" / "lib").mkdir(parents=True)
    command = [str(clone / "ops" / "setup")]

    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = "".join(each.communicate()[1] for each in both)

    assert [each.returncode for each in both] == [0, 0]
    assert said.count("setup: makes .venv") == 1
    assert setup(clone).stderr == ""
    pip = [str(clone / ".venv" / "bin" / "python"), "-P", "-m", "pip", "check"]
    assert subprocess.run(pip, capture_output=True, check=False).returncode == 0
