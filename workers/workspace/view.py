"""What a run in namespaces of its own sees of this host: its files and its network.

Like its neighbour `namespaces`, it knows nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOATIME = 1, 2, 4, 8, 1024
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = 32, 4096, 16384, 1 << 18, 1 << 21
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def narrow(box: Mapping[str, Any]) -> None:
    """Show this namespace's processes alone; of the covered folder, only what the run may have.

    Nothing that is mounted here is seen outside.
    """
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    if box["cover"] is not None:
        umask = os.umask(0o022)
        _cover(box)
        os.umask(umask)
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def connect(box: Mapping[str, Any]) -> tuple[list[socket.socket], dict[str, str]]:
    """Bring up the loopback of an own network, and listen there for those who look for the model.

    Returns the listeners, which live in this network whoever accepts on them, and what the
    agent's environment has to say of them.
    """
    if not box["network"]:
        return [], {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    if box["model"] is None:
        return [], {}
    _, port, is_tunnel = box["model"]
    if is_tunnel:
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        return [listener], {"HTTPS_PROXY": address, "https_proxy": address}
    found = [socket.create_server(("127.0.0.1", port))]
    with contextlib.suppress(OSError):  # a kernel without IPv6 is one
        found.append(socket.create_server(("::1", port), family=socket.AF_INET6))
    return found, {}


def _cover(box: Mapping[str, Any]) -> None:
    """An empty folder over what the run may not see, and in it the way to what it may."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
    given = [*((path, False) for path in box["keep"]), *((path, True) for path in box["lend"])]
    held = [(os.open(path, flags), path, is_lent) for path, is_lent in given]
    place = _first_closed(box["cover"], box["user"])
    _mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=256k")
    for descriptor, path, is_lent in held:
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND)
        if is_lent:
            _mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | _flags(path))
        os.close(descriptor)
    _mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _first_closed(cover: str, user: list[int] | None) -> str:
    """The cover, or above it the first folder that another user could not enter."""
    if user is not None:
        names = cover.strip("/").split("/")
        for count in range(1, len(names)):
            folder = "/" + "/".join(names[:count])
            if not os.stat(folder).st_mode & 0o001:
                return folder
    return cover


def _flags(path: str) -> int:
    """Those that a mount has; nobody may take them off with an ordinary user's rights."""
    found = os.statvfs(path).f_flag
    pairs = (
        (os.ST_NOSUID, MS_NOSUID), (os.ST_NODEV, MS_NODEV), (os.ST_NOEXEC, MS_NOEXEC),
        (os.ST_NOATIME, MS_NOATIME), (os.ST_RELATIME, MS_RELATIME),
    )  # fmt: skip
    return sum(ours for theirs, ours in pairs if found & theirs)


def _mount(
    source: str | None, place: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    words = [None if one is None else os.fsencode(one) for one in (source, place, kind)]
    data = None if options is None else options.encode()
    if library.mount(*words, ctypes.c_ulong(flags), data) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"mount {kind or ''} on {place}")
