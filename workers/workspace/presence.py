"""Finding and ending what an earlier run left on this host (PROTOCOL §4, row 14).

Every process of a run carries markers in its environment. One that hid them is still found below
one that did not, since the run's supervisor inherits whatever loses its parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

_PROC = Path("/proc")
_PATIENCE = 10.0  #: seconds until what was killed has to be gone
_TRUST = 2.0  #: seconds of them for a guard to end by itself


def alive(marker_name: str, marker_value: str) -> list[int]:
    """The pids on this host whose environment carries the marker."""
    return carrying({marker_name: marker_value})


def kill_all(marker_name: str, marker_value: str) -> bool:
    """Kill everything that carries the marker, and all below it; False if it may still run."""
    return kill_carrying({marker_name: marker_value})


def carrying(marked: Mapping[str, str]) -> list[int]:
    """The pids on this host whose environment carries every one of the markers."""
    if not marked:
        return []
    wanted = {os.fsencode(f"{name}={value}") for name, value in marked.items()}
    return [
        pid
        for pid in _pids()
        if pid != os.getpid() and wanted.issubset(_read(pid, "environ").split(b"\0"))
    ]


def kill_carrying(marked: Mapping[str, str]) -> bool:
    """Kill what carries every one of the markers, and all below it; False if it may still run.

    A guard, which has others below it and nobody marked above, is let be at first: it inherits
    whatever loses its parent, hidden or fast as it may be, and ends it better than we can.
    """
    seen: set[tuple[int, bytes]] = set()
    began = time.monotonic()
    while True:
        roots = carrying(marked)
        seen |= _with_descendants(roots)
        left = [(pid, born) for pid, born in seen if _stat(pid)[1:] == (True, born)]
        if not left:
            return True
        if time.monotonic() > began + _PATIENCE:
            return False
        spared = _guards(roots) if time.monotonic() < began + _TRUST else set()
        for pid, _ in left:
            if pid not in spared:
                _kill(pid)
        time.sleep(0.01)


def _guards(marked: list[int]) -> set[int]:
    roots = {pid for pid in marked if _stat(pid)[0] not in marked}
    return roots & {_stat(pid)[0] for pid in _pids()}


def _with_descendants(roots: list[int]) -> set[tuple[int, bytes]]:
    """Each process with its start time, so that a pid that is used again is not taken for it."""
    children: dict[int, list[int]] = {}
    born: dict[int, bytes] = {}
    for pid in _pids():
        parent, runs, start = _stat(pid)
        if runs:
            children.setdefault(parent, []).append(pid)
            born[pid] = start
    found = [pid for pid in roots if pid in born]
    for pid in found:
        found += [child for child in children.get(pid, []) if child not in found]
    return {(pid, born[pid]) for pid in found if pid not in (1, os.getpid())}


def _stat(pid: int) -> tuple[int, bool, bytes]:
    """Its parent, whether it runs, and when it started."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    if len(fields) < 20:
        return 0, False, b""
    threads = int(fields[17])  # a zombie that has threads left still runs
    return int(fields[1]), fields[0] not in (b"Z", b"X") or threads > 1, fields[19]


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):  # gone by itself, or not ours: the next look tells
        os.kill(pid, signal.SIGKILL)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
