"""What proves who we are: a token that was given, or one that an App has minted just in time (G05).

A credential lives in the memory of its process alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import jwt

from app import secrecy
from app.config import Secret
from app.domain.errors import ForgeRefused, RemoteUnreadable
from app.github.account import Account, CredentialMissing
from app.github.address import Address
from app.github.answer import Answer, trouble_of
from app.github.client import Client, as_app

#: A minted token is not used in its last minutes: a push may take as long.
_MARGIN = 300.0
#: What an App signs is taken for ten minutes at most.
_SIGNED_FOR = 480
_BACK = 60  #: seconds before now, for GitHub's clock may be a little behind


class Credential(Protocol):
    """Proof of who we are at one repository."""

    def token(self) -> str:
        """A token that is good for minutes; ForgeRefused where none is to be had."""

    def renew(self) -> bool:
        """Forget the token that was refused; whether another one may be had."""


class Given:
    """A token from the settings; a file that was replaced counts from its next use on."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._used: str | None = None

    def token(self) -> str:
        """What the setting says now."""
        self._used = self._secret.word()
        return self._used

    def renew(self) -> bool:
        """Whether the file says something else by now."""
        return self._used is not None and self._secret.word() != self._used


class Minted:
    """Tokens of an App's installation, each for the one repository, kept until they run out."""

    def __init__(self, account: Account, address: Address) -> None:
        self._account, self._address = account, address
        self._lock = threading.Lock()
        self._token: str | None = None
        self._until = 0.0  #: by the monotonic clock
        self._ahead = 0.0  #: seconds that GitHub's clock is ahead of ours (Q13)

    def token(self) -> str:
        """The token that is kept, or a fresh one."""
        with self._lock:
            if self._token is None or time.monotonic() > self._until - _MARGIN:
                self._mint()
            assert self._token is not None
            return self._token

    def renew(self) -> bool:
        """Mint another one for the next use."""
        with self._lock:
            self._token = None
        return True

    def _mint(self) -> None:
        where = f"the installation of App {self._account.app} on {self._address}"
        installed = self._asked("GET", f"/repos/{self._address}/installation", None)
        if installed.status == 404:
            raise ForgeRefused(
                f"App {self._account.app} is not installed on {self._address}",
                hint="install it there, or correct FENCEPOST_GITHUB_APP",
            )
        number = _field(installed, "id", where)
        minted = self._asked(
            "POST", f"/app/installations/{number}/access_tokens",
            {"repositories": [self._address.name]},
        )  # fmt: skip
        self._token = str(_field(minted, "token", where))
        secrecy.note("github-token", self._token)
        ends = datetime.fromisoformat(str(_field(minted, "expires_at", where)))
        # the life is counted from GitHub's own time, so that a wrong clock here shortens nothing
        self._until = time.monotonic() + ends.timestamp() - (time.time() + _ahead_of(minted, 0.0))

    def _asked(self, verb: str, path: str, value: Mapping[str, Any] | None) -> Answer:
        """One question as the App; a clock that is off is corrected by the answer, once."""
        answer = self._ask(verb, path, value)
        if answer.status == 401:
            self._ahead = _ahead_of(answer, self._ahead)
            answer = self._ask(verb, path, value)
        return answer

    def _ask(self, verb: str, path: str, value: Mapping[str, Any] | None) -> Answer:
        client = Client(self._account.api, as_app(self._signed()))
        return client.get(path) if verb == "GET" else client.write(verb, path, value)

    def _signed(self) -> str:
        assert self._account.key is not None
        now = int(time.time() + self._ahead)
        claims = {"iat": now - _BACK, "exp": now + _SIGNED_FOR, "iss": self._account.app}
        try:
            return jwt.encode(claims, self._account.key.text(), algorithm="RS256")
        except (ValueError, TypeError, jwt.exceptions.PyJWTError) as fault:
            raise CredentialMissing(
                f"FENCEPOST_GITHUB_APP_KEY is no private key: {type(fault).__name__}",
                hint="it is the PEM file that GitHub made for the App",
            ) from fault


def credential_of(account: Account, address: Address) -> Credential:
    """How we prove ourselves at a repository; CredentialMissing where nothing is set."""
    if account.token is not None:
        return Given(account.token)
    if account.app is not None and account.key is not None:
        return Minted(account, address)
    raise CredentialMissing(f"{address.url} is at GitHub, and no credential is set")


def _field(answer: Answer, name: str, what: str) -> object:
    if not answer.is_good:
        raise trouble_of(answer, what)
    if not isinstance(answer.value, Mapping) or name not in answer.value:
        raise RemoteUnreadable(f"GitHub's answer about {what} has no {name}")
    return answer.value[name]


def _ahead_of(answer: Answer, otherwise: float) -> float:
    try:
        said = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return otherwise
    return said.timestamp() - time.time()
