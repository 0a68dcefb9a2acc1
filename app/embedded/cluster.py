"""The data folder of the embedded Postgres: made whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from secrets import token_hex

from app.domain.errors import ServersUnavailable
from app.embedded import folder, process
from app.embedded.place import Place

SUPERUSER = "postgres"

_ACCESS = "# Every login by password, over the socket alone.\nlocal all all scram-sha-256\n"


def ensure(place: Place, initdb: Path, password: str) -> None:
    """Make the cluster if there is none: under a temporary name, then in place at once."""
    if place.postgres.is_dir():
        return
    draft = folder.own(place.data / f"postgres.draft.{token_hex(4)}", 0o700, place.account)
    secret = place.data / "superuser"
    folder.write(secret, password + "\n", place.account)
    done = process.run(
        [
            initdb, "-D", draft, f"--username={SUPERUSER}", f"--pwfile={secret}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
            # Postgres's own C.UTF-8: the same on every machine, whatever locales it has.
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync",
        ],
        place.account,
    )  # fmt: skip
    secret.unlink()
    if done.returncode != 0:
        shutil.rmtree(draft, ignore_errors=True)
        said = " / ".join(done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:])
        raise ServersUnavailable(
            f"initdb failed: {said}", hint=f"see that {place.data} has free space (100 MB)"
        )
    folder.write(draft / "pg_hba.conf", _ACCESS, place.account)
    draft.rename(place.postgres)


def sweep(place: Place) -> None:
    """Throw away what starts that were killed half-way left."""
    (place.data / "superuser").unlink(missing_ok=True)
    for draft in place.data.glob("postgres.draft.*"):
        for initdb in process.find(place.account, "-D", draft):
            process.end(initdb)
        shutil.rmtree(draft, ignore_errors=True)


def unlock(lock: Path) -> None:
    """Remove a dead server's lock file, whoever has its pid now.

    Postgres does this itself, unless a stranger or an unreaped child has the pid. The lock of a
    Postgres that lives is left: it may be this cluster's, started when its home had another path.
    """
    if not lock.is_file():
        return
    pid = lock.read_text().partition("\n")[0]
    if pid.isdigit():
        process.await_dying(int(pid))  # killed just now, and not gone yet
    if not is_postgres(pid):
        lock.unlink()


def is_postgres(pid: str) -> bool:
    """Whether a Postgres lives under this pid."""
    try:
        name = Path("/proc", pid, "comm").read_text().strip()
    except OSError:
        return False
    return name == "postgres" and process.started_at(int(pid)) is not None
