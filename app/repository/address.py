"""Which addresses and names are safe to hand to git (S03)."""

from __future__ import annotations

import os
import re
import unicodedata
from urllib.parse import urlsplit

from app.domain.errors import UnsafeName

_TRANSPORTS = ("file", "http", "https", "ssh", "git")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_SCP_LIKE = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>\[[^\]/]+\]|[^@/:]+):(?P<path>.*)")

#: What to do about a name that cannot be used, where the caller has nothing better to say.
_HINTS = {
    "branch": "rename it (`git branch -m -- OLD NEW`), or start from another one with --base",
}


def plain(what: str, name: str, *, hint: str | None = None) -> str:
    """The name itself, when it is neither empty, an option, nor unprintable; else UnsafeName.

    It must be UTF-8 in Unicode form NFC, because requests are digested in that form.
    """
    hint = hint or _HINTS.get(what)
    if not name or name.startswith("-"):
        raise UnsafeName(f"{what} {name!r} is empty or would be taken for an option", hint=hint)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise UnsafeName(f"{what} {name!r} holds control characters or is not UTF-8", hint=hint)
    if not unicodedata.is_normalized("NFC", name):
        raise UnsafeName(f"{what} {name!r} is not in Unicode form NFC", hint=hint)
    return name


def is_url(repository: str) -> bool:
    """Whether git would take it for an address rather than a folder; an existing folder is one."""
    if repository.startswith("/"):
        return False
    if "://" in repository or _HELPER.match(repository):
        return True
    return _SCP_LIKE.fullmatch(repository) is not None and not os.path.exists(repository)


def safe_url(url: str) -> str:
    """The address itself, when nothing in it is a credential, an option or another transport.

    A login name is allowed for ssh alone, where it is no secret (`git@host:path`).
    """
    if _HELPER.match(url):
        raise UnsafeName(f"{url.split('::')[0]}:: is not a transport that is allowed")
    if "://" not in url:
        return _safe_scp(url)
    try:
        parts = urlsplit(url)
        user, password = parts.username, parts.password
        host = parts.netloc.rpartition("@")[2]  # as git sees it: `-[::1]` has the hostname `::1`
    except ValueError:
        raise UnsafeName("the address is malformed") from None
    if parts.scheme not in _TRANSPORTS:
        raise UnsafeName(f"{parts.scheme}:// is not a transport that is allowed")
    if password is not None or (user is not None and parts.scheme != "ssh"):
        raise UnsafeName("the address carries credentials", hint="use a git credential helper")
    if host.startswith("-") or (user or "").startswith("-"):
        raise UnsafeName("the host of the address would be taken for an option")
    return url


def _safe_scp(url: str) -> str:
    parts = _SCP_LIKE.fullmatch(url)
    if parts is None or parts["host"].startswith("-") or parts["path"].startswith("-"):
        raise UnsafeName("the address is malformed, or would be taken for an option")
    return url
