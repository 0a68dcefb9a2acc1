"""The clone itself, as its house rules see it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
MADE_HERE = {".git", ".venv", ".fencepost", "__pycache__", "dist", "build", ".hypothesis"}


@pytest.fixture(scope="session")
def house() -> Path:
    """The top of the clone."""
    return HOUSE


@pytest.fixture(scope="session")
def committed(house: Path) -> list[Path]:
    """The files that are committed or would be, relative to the top of the clone."""
    # the clone may belong to another user than the one who tests it
    git = ["git", "-c", "safe.directory=*", "-C", str(house)]
    listing = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0 and (house / ".git").exists():
        paths = [Path(name) for name in listing.stdout.decode().split("\0") if name]
    else:
        paths = [path.relative_to(house) for path in house.rglob("*")]
    return sorted(path for path in paths if (house / path).is_file() and not is_made(path))


def is_made(path: Path) -> bool:
    """Tell what tools leave behind from what people wrote."""
    return any(part in MADE_HERE or part.endswith("_cache") for part in path.parts)
