"""What a worker is told about keeping runs apart: namespaces of their own, and another user."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.config import SettingUnfit
from app.domain.errors import SetupError


class Apart(StrEnum):
    """What a run has to itself besides its checkout."""

    OFF = "off"
    PROCESSES = "processes"  #: it sees none of this host's, and nothing of FENCEPOST_HOME
    NETWORK = "network"  #: that, and it reaches nothing but its model


class IsolationUnavailable(SetupError):
    """This host does not let runs be kept apart as the settings ask; nothing has run."""

    code = "isolation_unavailable"
    hint = "docs/agents.md says what each option needs; FENCEPOST_AGENT_ISOLATION=off asks for none"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody else, with no group but one."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Isolation:
    """What keeps runs from this host, and from one another."""

    apart: Apart = Apart.OFF
    user: User | None = None  #: None: the worker's own

    @property
    def is_on(self) -> bool:
        """Whether anything does; another user has processes of his own as well."""
        return self.apart is not Apart.OFF or self.user is not None


def read(environment: Mapping[str, str] = os.environ) -> Isolation:
    """Read the environment, or refuse it as SettingUnfit; nothing is tried yet.

    Another user takes root's rights: without them it is IsolationUnavailable.
    """
    given = environment.get("FENCEPOST_AGENT_ISOLATION") or Apart.OFF
    if given not in list(Apart):
        raise SettingUnfit(
            f"FENCEPOST_AGENT_ISOLATION is no such thing: {given}",
            hint=f"write {', '.join(Apart)}",
        )
    return Isolation(Apart(given), _user(environment.get("FENCEPOST_AGENT_USER")))


def _user(given: str | None) -> User | None:
    """By name or number; a number that nobody has is its own group."""
    if not given:
        return None
    try:
        found = pwd.getpwuid(int(given)) if given.isdecimal() else pwd.getpwnam(given)
        user = User(found.pw_name, found.pw_uid, found.pw_gid)
    except KeyError:
        if not given.isdecimal() or int(given) >= 2**32 - 1:
            raise SettingUnfit(
                f"FENCEPOST_AGENT_USER: there is no user {given}",
                hint="make that user, or name a number that nobody has",
            ) from None
        user = User(given, int(given), int(given))
    if user.uid == 0 or user.gid == 0:
        raise SettingUnfit("FENCEPOST_AGENT_USER is root, or in its group", hint="name another")
    if os.geteuid() != 0:
        raise IsolationUnavailable(
            "FENCEPOST_AGENT_USER takes a worker that runs as root",
            hint="unset it, and set FENCEPOST_AGENT_ISOLATION: processes or network",
        )
    return user
