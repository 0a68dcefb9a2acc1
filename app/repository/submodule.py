"""Which address a submodule may have: what the repository asks for is not to be trusted (S03)."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from app.domain.errors import UnsafeName
from app.repository.address import is_url, plain, safe_url
from app.repository.source import is_file

_SCP_LIKE = re.compile(r"([^/:]+:)(.*)")


def address_of(url: str, source: str) -> str:
    """Where a submodule is, seen from where the repository around it came from; or UnsafeName.

    `./` and `../` stay on the source's host. A folder of this machine is for those repositories
    that are folders of this machine themselves.
    """
    plain("a submodule's address", url)
    if url.startswith(("./", "../")):
        url = _beside(source, url)
    is_local = is_file(url)
    if is_local and not is_file(source):
        raise UnsafeName(f"the submodule's address {url} is a path on this machine")
    if is_local and not is_url(url):
        if not os.path.isabs(url):
            raise UnsafeName(f"the submodule's address {url} is neither a URL nor absolute")
        return url
    return safe_url(url)


def _beside(source: str, relative: str) -> str:
    root, path = _split(source)
    parts = [part for part in path.split("/") if part]
    for part in relative.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif not parts:
            raise UnsafeName(f"the submodule's address {relative} leaves the host of {source}")
        else:
            parts.pop()
    return root + "/".join(parts)


def _split(source: str) -> tuple[str, str]:
    """What stays as it is, and the path that is followed."""
    if "://" in source:
        parts = urlsplit(source)
        return f"{parts.scheme}://{parts.netloc}/", parts.path
    found = _SCP_LIKE.fullmatch(source) if is_url(source) else None
    if found is not None:
        return found[1] + ("/" if found[2].startswith("/") else ""), found[2]
    return "/", os.path.abspath(source)
