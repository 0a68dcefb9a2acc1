"""A pull request as GitHub's JSON has it, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.digest import text
from app.domain.errors import RemoteUnreadable
from app.domain.pull_request import ForgeRequest, RequestState
from workers.forges.base import marker_of


def shown(value: object, repository: Mapping[str, Any]) -> ForgeRequest | None:
    """The request; None if its head is a fork's. RemoteUnreadable for what cannot be one.

    A head whose repository is gone counts as ours if it is labelled so: rather a person looks at
    it than that another request is created beside it.
    """
    try:
        return _shown(value, repository)
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        raise RemoteUnreadable(f"GitHub shows a request that cannot be read: {fault!r}") from fault


def _shown(value: Any, repository: Mapping[str, Any]) -> ForgeRequest | None:
    head, owner = value["head"], str(repository["owner"]["login"])
    place = head["repo"]
    if place is not None and place["id"] != repository["id"]:
        return None
    if place is None and head["label"] != f"{owner}:{head['ref']}":
        return None
    return ForgeRequest(
        int(value["number"]), _state(value), text(value["title"]), str(head["ref"]),
        str(head["sha"]), str(value["base"]["ref"]), text(value["html_url"]),
        marker_of(value["body"] or ""),
    )  # fmt: skip


def _state(value: Any) -> RequestState:
    if value["state"] == "open":
        return RequestState.OPEN
    return RequestState.MERGED if value["merged_at"] else RequestState.CLOSED
