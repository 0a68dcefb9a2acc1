"""Hands for tests of the double: plain requests and plain git, no library."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doubles.github import GitHub

REPO = "acme/widgets"


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: Any


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are answers to look at."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass
class Client:
    """Raw requests with one token."""

    github: GitHub
    token: str
    path: str = f"/repos/{REPO}"
    opener: Any = field(default_factory=lambda: urllib.request.build_opener(NoRedirect))

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout: float = 10,
    ) -> Reply:
        where = path if path.startswith("http") else f"{self.github.api}{path}"
        request = urllib.request.Request(
            where,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "User-Agent": "test", **(headers or {})},
            method=method,
        )
        try:
            with self.opener.open(request, timeout=timeout) as answer:
                return self._reply(answer)
        except urllib.error.HTTPError as error:
            return self._reply(error)

    def _reply(self, answer: Any) -> Reply:
        text = answer.read()
        headers = {name.lower(): value for name, value in answer.headers.items()}
        is_json = text and "json" in headers.get("content-type", "")
        return Reply(answer.status, headers, json.loads(text) if is_json else text)

    def open(self, head: str = "work", base: str = "main", **more: Any) -> Reply:
        body = {"title": "Add work", "body": "Done.", "head": head, "base": base, **more}
        return self.ask("POST", f"{self.path}/pulls", body)

    def git(self, *arguments: str, cwd: Path, token: str | None = None) -> Any:
        pair = b64encode(f"x-access-token:{token or self.token}".encode()).decode()
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(cwd), "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
            **{f"GIT_{role}_{part}": "x@y.invalid"
               for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
        }  # fmt: skip
        return subprocess.run(
            ["git", *arguments], cwd=cwd, env=environment, text=True, capture_output=True,
            timeout=60, check=False,
        )  # fmt: skip
