"""Pages of a listing, with GitHub's Link header."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from doubles.github.exchange import Answer, Call
from doubles.github.world import Repository

LARGEST = 100


def page(call: Call, repo: Repository | None, rows: list[Any], wrap: str | None = None) -> Answer:
    """One page of the rows; links point at the repository by its id, as GitHub's do."""
    query = call.request.query
    size = min(_number(query.get("per_page"), 30), LARGEST)
    number = _number(query.get("page"), 1)
    last = max(1, -(-len(rows) // size))
    shown = rows[(number - 1) * size : number * size]
    links = {}
    if number > 1:
        links |= {"prev": min(number - 1, last), "first": 1}
    if number < last:
        links |= {"next": number + 1, "last": last}
    header = ", ".join(f'<{_url(call, repo, to)}>; rel="{rel}"' for rel, to in links.items())
    body = {"total_count": len(rows), wrap: shown} if wrap else shown
    return Answer(200, body, {"Link": header} if header else {})


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() and int(text) > 0 else default


def _url(call: Call, repo: Repository | None, number: int) -> str:
    path = call.request.path
    if repo is not None and "/repos/" in path:
        rest = path.partition("/repos/")[2].split("/", 2)[2]
        path = f"/api/v3/repositories/{repo.id}/{rest}"
    query = urlencode({**call.request.query, "page": number})
    return f"{call.github.url}{path}?{query}"
