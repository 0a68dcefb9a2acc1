"""A box for one run: which processes, network, files and rights it has, and which it has not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from app.domain.digest import Json
from app.isolation import Apart, Isolation, User


@dataclass(frozen=True, slots=True)
class Box:
    """What a run is shut into: its own processes always, and what is named here."""

    has_network: bool  #: one of its own, in which nobody answers
    user: User | None  #: None: the worker's
    cover: Path | None  #: a folder of which it sees only what follows
    keep: tuple[Path, ...] = ()  #: folders that are its own
    lend: tuple[Path, ...] = ()  #: folders that it may read
    model: str | None = None  #: the address that is let through to it, of an API

    def give(self) -> None:
        """Make its folders belong to its user; what is somebody else's stays so."""
        if self.user is None:
            return
        for folder in self.keep:
            if folder.lstat().st_uid == self.user.uid:
                continue  # the last to be given: all in it is, and who knows what else is by now
            for path in _below(folder):
                if path.lstat().st_uid == os.geteuid():
                    os.chown(path, self.user.uid, self.user.gid, follow_symlinks=False)

    def value(self) -> dict[str, Json]:
        """As the supervisor is told of it."""
        return {
            "network": self.has_network,
            "user": None if self.user is None else [self.user.uid, self.user.gid],
            "cover": None if self.cover is None else str(self.cover),
            "keep": [str(path) for path in self.keep],
            "lend": [str(path) for path in self.lend],
            "model": _way(self.model) if self.has_network and self.model else None,
        }


def box_for(isolation: Isolation, home: Path, keep: Sequence[Path], git_dir: Path) -> Box | None:
    """The box of a run whose own folders are given; None where nothing keeps runs apart.

    It sees nothing else of FENCEPOST_HOME than the objects that its repository borrows.
    """
    if not isolation.is_on:
        return None
    objects = git_dir / "objects"
    borrowed = objects / "info" / "alternates"
    lent = borrowed.read_text().splitlines() if borrowed.exists() else []
    folders = [folder for folder in (objects, *map(Path, lent)) if folder.is_dir()]
    return Box(
        isolation.apart is Apart.NETWORK, isolation.user, home.resolve(), tuple(keep),
        tuple(folders),
    )  # fmt: skip


def _below(folder: Path) -> Iterator[Path]:
    """Everything in a folder, then itself, links as they are."""
    for where, folders, files in os.walk(folder):
        yield from (Path(where, name) for name in (*folders, *files))
    yield folder


def _way(url: str) -> list[Json]:
    """Host, port, and whether it is asked for by a tunnel: a plain one is on this machine."""
    parts = urlsplit(url)
    is_tunnel = parts.scheme == "https"
    return [parts.hostname or "", parts.port or (443 if is_tunnel else 80), is_tunnel]
