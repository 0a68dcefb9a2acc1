"""The passwords of one home's servers: random, in one file that only its owner reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from secrets import token_hex

from app.domain.errors import ServersUnavailable
from app.embedded import folder
from app.embedded.place import Place


def fresh() -> str:
    """Another password; no file and no URL has to quote it, and all can see what it is."""
    return f"fp_{token_hex(32)}"


@dataclass(frozen=True, slots=True)
class Passwords:
    """One for each login of the database, one for Redis; never part of a repr."""

    superuser: str = field(default_factory=fresh, repr=False)
    owner: str = field(default_factory=fresh, repr=False)
    app: str = field(default_factory=fresh, repr=False)
    worker: str = field(default_factory=fresh, repr=False)
    redis: str = field(default_factory=fresh, repr=False)


def file_of(place: Place) -> Path:
    """Where the passwords of a place are kept."""
    return place.secret / "passwords.json"


def load(place: Place) -> Passwords | None:
    """The passwords of a place, or None before its first start."""
    file = file_of(place)
    try:
        return Passwords(**json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise ServersUnavailable(
            f"{file} is damaged", hint="put it back from a copy, or destroy this home"
        ) from None


def keep(place: Place, passwords: Passwords) -> Passwords:
    """Write passwords down, before anything uses them."""
    folder.write(file_of(place), json.dumps(asdict(passwords)) + "\n")
    return passwords


def renew_redis(place: Place, passwords: Passwords) -> Passwords:
    """Give Redis another password."""
    return keep(place, replace(passwords, redis=fresh()))
