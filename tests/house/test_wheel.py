"""The wheel holds all of the product, and runs without the clone."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(house: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built as an installer builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=house, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel and what it needs, without the clone."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-I", "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    pip = [sys.executable, "-P", "-m", "pip", "--python", str(python), "install", "-q"]
    run(*pip, "--no-deps", "--no-index", str(wheel))
    # a .pth inside the folder named here is not read: the clone's own editable entry stays out
    site = run(str(python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    (Path(site.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_holds_every_file_of_the_packages(wheel: Path, committed: list[Path]) -> None:
    """Templates, revisions and git configuration travel with the code."""
    inside = set(zipfile.ZipFile(wheel).namelist())

    expected = {path.as_posix() for path in committed if path.parts[0] in {"app", "workers"}}

    assert expected - inside == set()
    assert {name.partition("/")[0] for name in inside if ".dist-info/" not in name} == {
        "app",
        "workers",
    }


def test_installed_wheel_runs_from_another_folder(installed: Path, tmp_path: Path) -> None:
    """`fencepost` works where no clone is in sight."""
    help_text = run(str(installed / "fencepost"), "--help", cwd=tmp_path)
    origin = run(
        str(installed / "python"), "-P", "-c", "import app; print(app.__file__)", cwd=tmp_path
    )

    assert "run" in help_text
    assert Path(origin.strip()).is_relative_to(installed.parent)
