"""GitHub's headers, its hourly limit, and 304 for what the sender has already."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from doubles.github import limits
from doubles.github.exchange import Answer, Refused, Request
from doubles.github.world import Token, World

HOUR = 3600


class Dressing:
    """The half of the server that counts and labels."""

    world: World

    def spend(self, token: Token) -> None:
        """Count a request; refuse it when the hour's are used up."""
        now = self.world.clock.now()
        if now >= token.window_ends:
            token.used, token.window_ends = 0, now + HOUR
        if token.used >= token.limit:
            answer = limits.answer("primary_403", now, token.window_ends - now, self.request_id())
            refused = Refused(403, answer.body["message"])
            refused.answer = answer
            raise refused
        token.used += 1

    def budget(self, token: Token | None) -> dict[str, Any]:
        """What is left of the hour."""
        ends = int(token.window_ends if token else self.world.clock.now() + HOUR)
        limit, used = (token.limit, token.used) if token else (60, 1)
        return {"limit": limit, "used": used, "remaining": max(0, limit - used), "reset": ends}

    def request_id(self) -> str:
        """A new id as GitHub gives each request."""
        return hashlib.sha256(str(time.time_ns()).encode()).hexdigest()[:24].upper()

    def dressed(self, answer: Answer, request: Request, token: Token | None) -> Answer:
        """With GitHub's headers, and as a 304 when the sender has it already."""
        left = self.budget(token)
        answer.headers = {
            "Content-Type": "application/json; charset=utf-8",
            "X-GitHub-Request-Id": self.request_id(),
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Enterprise-Version": "3.19.0",
            **{f"X-RateLimit-{name.title()}": str(value) for name, value in left.items()},
            "X-RateLimit-Resource": "core",
            **answer.headers,
        }
        if token is not None and token.kind == "personal":
            answer.headers["X-OAuth-Scopes"] = "repo"
        if request.method == "GET" and answer.status == 200:
            etag = f'W/"{hashlib.sha256(answer.content()).hexdigest()}"'
            answer.headers |= {"ETag": etag, "Cache-Control": "private, max-age=60, s-maxage=60"}
            if request.headers.get("if-none-match") == etag:
                if token is not None:
                    token.used -= 1
                return Answer(304, None, answer.headers)
        return answer
