"""How git is let in at GitHub: by a header in the environment of the one process that needs it.

Never on a command line, in an address, or on disk (docs/decisions/0013-github.md).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass

from app.github.address import Address
from app.github.credential import Credential

_PROXIES = tuple(
    name for one in ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
    for name in (one, one.upper())
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GitAccess:
    """The environment of a git command at one host."""

    address: Address
    credential: Credential

    def environment(self) -> Mapping[str, str]:
        """The header, for this origin alone, and the way through a proxy."""
        proof = base64.b64encode(f"x-access-token:{self.credential.token()}".encode()).decode()
        proxies = {name: os.environ[name] for name in _PROXIES if name in os.environ}
        return proxies | {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.address.origin}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {proof}",
        }

    def renew(self) -> bool:
        """Ask for another credential."""
        return self.credential.renew()
