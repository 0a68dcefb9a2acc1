"""Which repositories are GitHub's, and what they are called there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.github.account import Account

_NAME = re.compile(r"(?!\.\.?\Z)[A-Za-z0-9_.-]{1,100}\Z")
#: How the registry of forges, and a repository's row, call it.
FORGE = "github"


@dataclass(frozen=True, slots=True)
class Address:
    """A repository at a GitHub, as its clone address says it."""

    scheme: str
    host: str  #: with its port, if it has one
    owner: str
    name: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}/"

    @property
    def url(self) -> str:
        """The one form in which it is kept, however it was typed."""
        return f"{self.origin}{self.owner}/{self.name}.git"

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"


def address_of(url: str, account: Account) -> Address | None:
    """What the address says, if it is one of a repository on the account's host; else None.

    An address by ssh, a folder, and another host are none: they stay with the local forge.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme != account.scheme or parts.netloc.lower() != account.host:
        return None
    owner, _, name = parts.path.strip("/").partition("/")
    name = name.removesuffix(".git")
    if parts.query or parts.fragment or not (_NAME.match(owner) and _NAME.match(name)):
        return None
    return Address(parts.scheme, account.host, owner, name)


def is_github(url: str, account: Account) -> bool:
    """The rule: a credential is set, and the address is one of that GitHub's."""
    return account.is_set and address_of(url, account) is not None
