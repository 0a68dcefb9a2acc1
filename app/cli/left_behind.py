"""The databases of homes that are gone: as root they lie apart, and outlive their home."""

from __future__ import annotations

from pathlib import Path

from app.cli.shown import plain
from app.disk import shown
from app.embedded import place, servers
from app.embedded.place import Left


def tell() -> None:
    """Print what was left behind, if anything was; nothing is deleted."""
    for one in _gone():
        print(f"{one.data} is of {_name(one)}, which is gone ({shown(_size(one.data))})")
    if _gone():
        print("  fencepost down --purge deletes it; mount what is not mounted before")


def purge() -> None:
    """Delete what homes that are gone have left, their servers' processes first."""
    gone = _gone()
    for one in gone:
        assert one.home is not None  # else nobody knows that it is gone
        size = _size(one.data)
        servers.destroy(one.home)
        print(f"deleted the database of {_name(one)}, which is gone ({shown(size)})")
    if not gone:
        print("no home that is gone has left anything")
    for one in place.apart():
        if one.home is None:
            print(f"left {one.data}: no note says of which home it is; delete it by hand")


def _gone() -> list[Left]:
    return [one for one in place.apart() if one.is_gone]


def _name(one: Left) -> str:
    return plain(str(one.home), 200)


def _size(folder: Path) -> int:
    """Bytes of all files; what vanishes meanwhile counts nothing."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.lstat().st_size
        except OSError:
            continue
    return total
