"""Requests to GitHub's API, each sent exactly once: what is repeated is decided elsewhere.

PyGithub carries them. Its retries are off, for they would send a POST again on any 5xx (G04), and
so are its pauses, for they would sleep inside of a slot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import github
import requests
import urllib3
from github.Auth import AppAuthToken, Auth, Token

from app.domain.errors import ForgeUncertain, RemoteUnreadable
from app.github.answer import Answer

__all__ = ["Client", "NotSent", "as_app", "as_bearer"]

_TIMEOUT = 20  #: seconds to connect, and of silence
_VERSION = "2022-11-28"
_PAGE = 100
_NOBODY_THERE = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.NameResolutionError)


class NotSent(RemoteUnreadable):
    """Nobody could be reached, so that nothing can have been done."""


def as_bearer(token: str) -> Auth:
    """A personal or an installation's token."""
    return Token(token)


def as_app(signed: str) -> Auth:
    """An App, by what its key has signed."""
    return AppAuthToken(signed)


class Client:
    """One caller's way to the API; it is for one thread."""

    def __init__(self, api: str, auth: Auth) -> None:
        self._api, self._auth = api, auth
        self._reading = self._requester()

    def is_of(self, token: str) -> bool:
        """Whether it speaks with this token."""
        return isinstance(self._auth, Token) and self._auth.token == token

    def get(
        self, path: str, parameters: Mapping[str, str] | None = None, etag: str | None = None,
        accept: str | None = None,
    ) -> Answer:  # fmt: skip
        """Read once; with an etag a 304 says that nothing is new. RemoteUnreadable: no answer."""
        headers = {} if etag is None else {"If-None-Match": etag}
        headers |= {} if accept is None else {"Accept": accept}
        try:
            answered = self._reading.requestJson(
                "GET", path, parameters=dict(parameters or {}), headers=headers
            )
        except _FAULTS as fault:
            raise RemoteUnreadable(f"GitHub does not answer: {self._told(fault)}") from fault
        return _answer(answered)

    def write(self, verb: str, path: str, value: Mapping[str, Any] | None = None) -> Answer:
        """Write once, on a connection of its own: a kept one may be closed as it is used again.

        NotSent: nothing has left. ForgeUncertain: it may have been done.
        """
        try:
            return _answer(self._requester().requestJson(verb, path, headers={}, input=value))
        except _FAULTS as fault:
            if _never_left(fault):
                raise NotSent(f"GitHub cannot be reached: {self._told(fault)}") from fault
            raise ForgeUncertain(f"GitHub's answer was lost: {self._told(fault)}") from fault

    def pages(self, path: str, parameters: Mapping[str, str], most: int = 1000) -> list[Answer]:
        """The answers of every page; the last is the first that is not good, if one is not."""
        found: list[Answer] = []
        for page in range(1, most + 1):
            answer = self.get(path, {**parameters, "per_page": str(_PAGE), "page": str(page)})
            found.append(answer)
            is_list = isinstance(answer.value, list)
            more = 'rel="next"' in answer.headers.get("link", "") or (
                is_list and len(answer.value) >= _PAGE
            )
            if not answer.is_good or not is_list or not answer.value or not more:
                break
        return found

    def _told(self, fault: BaseException) -> str:
        """A library may quote what it was to send; the credential is not told on."""
        whole = f"{type(fault).__name__}: {fault}"
        secret = getattr(self._auth, "token", "")
        for form in filter(None, (secret, repr(secret)[1:-1])):
            whole = whole.replace(form, "***")
        return whole[:300]

    def _requester(self) -> github.Requester.Requester:
        return github.Github(
            auth=self._auth, base_url=self._api, timeout=_TIMEOUT, retry=None, per_page=_PAGE,
            seconds_between_requests=None, seconds_between_writes=None, user_agent="fencepost",
            api_version=_VERSION,
        ).requester  # fmt: skip


#: A library that asserts what it is sent, or follows where it is led, fails in these ways too.
_FAULTS = (
    requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError,
    RuntimeError, AssertionError,
)  # fmt: skip


def _never_left(fault: BaseException) -> bool:
    """Whether no connection came to be, or nothing could be put on it."""
    if isinstance(fault, requests.exceptions.ConnectTimeout | requests.exceptions.InvalidHeader):
        return True
    cause: object = fault.args[0] if fault.args else None
    reason = getattr(cause, "reason", None)
    return isinstance(fault, requests.exceptions.ConnectionError) and isinstance(
        reason, _NOBODY_THERE
    )


def _answer(answered: tuple[int, dict[str, Any], str]) -> Answer:
    status, headers, body = answered
    try:
        value = json.loads(body) if body else None
    except ValueError:
        value = None
    return Answer(status, {name: str(said) for name, said in headers.items()}, value, body)
