"""Which part of the API answers a path; templates are written as GitHub's description does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from doubles.github.exchange import Answer, Call
from doubles.github.routes import (
    accounts,
    apps,
    checks,
    commits,
    issues,
    pulls,
    refs,
    repositories,
    statuses,
)

#: parts of a path that may hold slashes
WIDE = frozenset({"branch", "ref", "basehead"})
MODULES = (accounts, apps, checks, commits, issues, pulls, refs, repositories, statuses)


@dataclass(frozen=True)
class Route:
    """A method, a template, and what answers it."""

    method: str
    template: str
    pattern: re.Pattern[str]
    answer: Callable[[Call], Answer]


def compiled(template: str) -> re.Pattern[str]:
    """The template as an expression over an undecoded path."""
    parts = re.split(r"\{(\w+)\}", template)
    out = [re.escape(parts[0])]
    for name, rest in zip(parts[1::2], parts[2::2], strict=True):
        out += [f"(?P<{name}>{'.+' if name in WIDE else '[^/]+'})", re.escape(rest)]
    return re.compile("".join(out))


def table() -> list[Route]:
    """Every route; a longer template is asked first."""
    found = [
        Route(method, template, compiled(template), answer)
        for module in MODULES
        for method, template, answer in module.ROUTES
    ]
    return sorted(found, key=lambda route: -len(route.template))


def find(routes: list[Route], method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a path and what the path holds; `/repositories/ID` stands for a name."""
    by_id = re.fullmatch(r"/repositories/(\d+)(/.*)?", path)
    if by_id:
        path = f"/repos/-/-{by_id[2] or ''}"
    for route in routes:
        match = route.pattern.fullmatch(path)
        if match and route.method == ("GET" if method == "HEAD" else method):
            values = {name: unquote(value) for name, value in match.groupdict().items()}
            return route, {**values, "repository_id": by_id[1]} if by_id else values
    return None
