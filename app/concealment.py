"""What the kernel shows of this process: the environment that it was started with.

Whoever runs as the same user may read that in /proc, and an agent often does.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_BEGINS, _ENDS = 47, 48  #: `env_start` and `env_end` among the fields after the program's name


def conceal(name: str) -> None:
    """Blank the value of a variable where the kernel shows it; `os.environ` keeps it.

    Where the kernel does not say where that is, nothing happens.
    """
    if name not in os.environ:
        return
    os.environ[name] = os.environ[name]  # libc has its own copy from here on
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        begin, end = int(fields[_BEGINS]), int(fields[_ENDS])
    except (OSError, IndexError, ValueError):
        return
    if not 0 < begin < end:
        return
    sign, place = f"{name}=".encode(), begin
    for entry in ctypes.string_at(begin, end - begin).split(b"\0"):
        if entry.startswith(sign):
            ctypes.memset(place + len(sign), ord("*"), len(entry) - len(sign))
        place += len(entry) + 1
