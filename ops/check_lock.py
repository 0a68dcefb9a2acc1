"""Holds ops/requirements.lock against pyproject.toml and the installed metadata, without a network.

Every requirement, direct or transitive, in any extra or dependency group, has a pin that satisfies
it on every supported Python; every pin is exact, hashed, needed, and names no index.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.markers import Marker, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
PYTHONS = ("3.11.0", "3.11.9", "3.12.0", "3.13.0")


@dataclass(frozen=True, slots=True)
class Pin:
    """One exact version that the lock names, where its marker holds."""

    name: str
    version: Version
    marker: Marker | None

    def holds(self, environment: Mapping[str, str]) -> bool:
        """Tell whether pip installs this pin in the environment."""
        return self.marker is None or self.marker.evaluate({**environment, "extra": ""})


def main(house: Path) -> int:
    """Print each fault on a line; 1 if there was any."""
    project = tomllib.loads((house / "pyproject.toml").read_text("utf-8"))
    found = faults(project, (house / "ops" / "requirements.lock").read_text("utf-8"))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def faults(project: Mapping[str, Any], lock: str) -> list[str]:
    """Every way in which the lock does not serve the project, one sentence each."""
    pins, found = read_pins(lock)
    needed: set[str] = set()
    for python in PYTHONS:
        environment = environment_of(python)
        held = {pin.name: pin for pin in pins if pin.holds(environment)}
        found += walk(direct_requirements(project), held, environment, needed)
    # a pin for another system (colorama on Windows) cannot be judged from here
    idle = {pin.name for pin in pins if any(pin.holds(environment_of(p)) for p in PYTHONS)} - needed
    found += [f"{name}: pinned, and nothing requires it" for name in sorted(idle)]
    return list(dict.fromkeys(found))


def read_pins(lock: str) -> tuple[list[Pin], list[str]]:
    """The pins of a lock file, and what is wrong with its lines."""
    pins: list[Pin] = []
    found: list[str] = []
    for line in re.sub(r"\\\n", " ", lock).splitlines():
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        head = text.split("--hash", 1)[0]
        hashes = text[len(head) :].split()
        try:
            requirement = Requirement(head)
            (specifier,) = requirement.specifier
        except (InvalidRequirement, ValueError):
            found.append(f"not a pin: {text[:80]}")
            continue
        if requirement.url or specifier.operator != "==" or "*" in specifier.version:
            found.append(f"not an exact version: {requirement}")
            continue
        name = canonicalize_name(requirement.name)
        if not hashes or not all(HASH.fullmatch(each) for each in hashes):
            found.append(f"{name}: needs sha256 hashes, and nothing else, after its version")
        pins.append(Pin(name, Version(specifier.version), requirement.marker))
    return pins, found


def direct_requirements(project: Mapping[str, Any]) -> list[Requirement]:
    """What pyproject asks for: to build, to run, in every extra and every dependency group."""
    table = project.get("project", {})
    groups = project.get("dependency-groups", {})
    lines = [
        *project.get("build-system", {}).get("requires", []),
        *table.get("dependencies", []),
        *(line for extra in table.get("optional-dependencies", {}).values() for line in extra),
        # an {include-group = …} entry names a group that is read anyway
        *(line for group in groups.values() for line in group if isinstance(line, str)),
    ]
    return [Requirement(line) for line in lines]


def walk(
    requirements: list[Requirement],
    held: Mapping[str, Pin],
    environment: Mapping[str, str],
    needed: set[str],
) -> Iterator[str]:
    """Follow requirements through the installed metadata; add each name met to `needed`."""
    queue = [(requirement, "pyproject.toml") for requirement in requirements]
    seen: set[tuple[str, str]] = set()
    while queue:
        requirement, asker = queue.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": "", **environment}):
            continue
        name = canonicalize_name(requirement.name)
        needed.add(name)
        pin = held.get(name)
        if pin is None:
            python = environment["python_version"]
            yield f"{asker} requires {requirement}: no pin on Python {python}"
            continue
        if not requirement.specifier.contains(pin.version, prereleases=True):
            yield f"{asker} requires {requirement}: the lock pins {pin.version}"
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                fault, asked = requirements_of(pin, extra, environment)
                yield from fault
                queue += [(each, name) for each in asked]


def requirements_of(
    pin: Pin, extra: str, environment: Mapping[str, str]
) -> tuple[list[str], list[Requirement]]:
    """What the installed package of a pin requires under one extra ("" for none)."""
    try:
        installed = distribution(pin.name)
    except PackageNotFoundError:
        return [], []  # for another Python than this one: its own run of the check reads it
    if Version(installed.version) != pin.version:
        return [f"{pin.name}: {installed.version} is installed, the lock pins {pin.version}"], []
    every = [Requirement(line) for line in installed.requires or []]
    under = {**environment, "extra": extra}
    applying = [each for each in every if not each.marker or each.marker.evaluate(under)]
    for requirement in applying:
        requirement.marker = None
    return [], applying


def environment_of(python: str) -> dict[str, str]:
    """This machine's marker environment, under another version of Python."""
    environment = {name: str(value) for name, value in default_environment().items()}
    version = python.rsplit(".", 1)[0]
    return {**environment, "python_full_version": python, "python_version": version}


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[1]))
