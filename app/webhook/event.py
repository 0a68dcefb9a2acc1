"""What a signed body says, as a hint; whatever is no event of the known form is junk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.domain.errors import BadInput
from app.domain.hint import EVENTS, Hint
from app.github.account import Account
from app.github.address import address_of

_DELIVERY = re.compile(r"[0-9A-Za-z-]{1,64}")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: Where each event names commits.
_COMMITS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "check_run": (("check_run", "head_sha"),),
    "check_suite": (("check_suite", "head_sha"),),
    "status": (("sha",),),
    "pull_request": (("pull_request", "head", "sha"), ("before",), ("after",)),
    "push": (("before",), ("after",)),
    "ping": (),
}


def hint_of(event: str, delivery: str, body: bytes, account: Account) -> Hint | None:
    """The hint; None for an event that is not heeded. BadInput: no JSON, or no delivery's id."""
    if _DELIVERY.fullmatch(delivery) is None:
        raise BadInput("X-GitHub-Delivery is no id of a delivery")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("the body is no JSON") from None
    if not isinstance(value, Mapping):
        raise BadInput("the body is no JSON object")
    if event not in EVENTS:
        return None
    return Hint(
        delivery, event, _repository(value, account), tuple(dict.fromkeys(_shas(event, value)))
    )


def _repository(value: Mapping[str, Any], account: Account) -> str | None:
    """The address in the form in which it is kept, if it is one of this GitHub's."""
    for name in ("clone_url", "html_url"):
        said = _at(value, ("repository", name))
        found = address_of(said, account) if isinstance(said, str) and len(said) < 400 else None
        if found is not None:
            return found.url
    return None


def _shas(event: str, value: Mapping[str, Any]) -> Iterator[str]:
    for path in _COMMITS[event]:
        said = _at(value, path)
        if isinstance(said, str) and _SHA.fullmatch(said) and said.strip("0"):
            yield said


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
