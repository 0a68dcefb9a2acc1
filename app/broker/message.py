"""Messages as they lie in Redis, where anybody may have put anything: read, and written anew."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import uuid4

from app.broker.publisher import VERSION
from app.domain.dead_letter import LetterCause
from app.domain.delivery import Delivery
from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId
from app.kinds.registry import KINDS

#: Bytes; a delivery of ours has fewer than 2,000.
LARGEST = 65_536
_LONGEST = {"world": 64, "kind": 64, "activity": 200, "attempt": 200}  #: characters
_LARGEST_NUMBER = 2**63 - 1


def read(message: bytes) -> Delivery | LetterCause:
    """The delivery that a message is, or why it is none; no bytes whatever raise an error.

    Only task and keyword arguments are read. Whatever else the message asks for (a time, a limit,
    a callback, a compression) is not heeded: `written` leaves it out.
    """
    if len(message) > LARGEST:
        return LetterCause.TOO_LARGE
    whole = _json(message)
    if whole is None:
        return LetterCause.NOT_JSON
    headers = _part(whole, "headers")
    task, body = _part(headers, "task"), _part(whole, "body")
    if not isinstance(task, str) or not isinstance(body, str):
        return LetterCause.MALFORMED
    if _part(whole, "content-type") != "application/json" or "compression" in headers:
        return LetterCause.UNFIT_CONTENT
    said = _json(_decoded(body))
    if not isinstance(said, list) or len(said) != 3:
        return LetterCause.UNFIT_BODY
    if task not in KINDS:
        return LetterCause.UNKNOWN_TASK
    return _delivery(task, positional=said[0], named=said[1])


def written(delivery: Delivery, queue: str) -> bytes:
    """A message for a delivery as Celery sends it, by our own hand, with a tag of its own."""
    key = delivery.key
    named = {
        "world": key.world, "kind": key.kind, "activity": key.activity,
        "attempt": delivery.attempt, "delivery": delivery.number, "v": VERSION,
    }  # fmt: skip
    rest = dict.fromkeys(("callbacks", "errbacks", "chain", "chord"))
    task_id = f"{key.activity[:16]}.{delivery.number}"
    told = {"argsrepr": "()", "kwargsrepr": repr(named)}
    nothing = dict.fromkeys(("shadow", "eta", "expires", "group", "group_index", "parent_id"))
    return json.dumps(
        {
            "body": base64.b64encode(json.dumps([[], named, rest]).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py", "task": key.kind, "id": task_id, "root_id": task_id, "retries": 0,
                "timelimit": [None, None], "ignore_result": True, "replaced_task_nesting": 0,
                "stamped_headers": None, "stamps": {}, "origin": "fencepost", **told, **nothing,
            },
            "properties": {
                "correlation_id": task_id, "reply_to": "", "delivery_mode": 2, "priority": 0,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "body_encoding": "base64", "delivery_tag": str(uuid4()), **told,
            },
        }
    ).encode()  # fmt: skip


def _delivery(task: str, positional: object, named: object) -> Delivery | LetterCause:
    if positional != [] or not isinstance(named, dict):
        return LetterCause.UNFIT_ARGUMENTS
    version, number = named.get("v"), named.get("delivery")
    if not _is_number(version):
        return LetterCause.UNFIT_ARGUMENTS
    if version != VERSION:
        return LetterCause.UNKNOWN_VERSION
    are_words = all(_is_word(named.get(name), longest) for name, longest in _LONGEST.items())
    if not are_words or not _is_number(number) or set(named) != {*_LONGEST, "delivery", "v"}:
        return LetterCause.UNFIT_ARGUMENTS
    if named["kind"] != task:
        return LetterCause.UNFIT_ARGUMENTS
    key = ActivityKey(WorldId(named["world"]), Kind(task), ActivityId(named["activity"]))
    return Delivery(key, DeliveryNumber(named["delivery"]), named["attempt"])


def _json(data: bytes | None) -> Any:
    """The JSON value in some bytes; None: there is none, or it is `null`."""
    try:
        return None if data is None else json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _part(whole: object, name: str) -> Any:
    return whole.get(name) if isinstance(whole, dict) else None


def _decoded(body: str) -> bytes | None:
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        return None


def _is_word(value: object, longest: int) -> bool:
    """No control character and no half of a surrogate pair: Postgres takes neither."""
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def _is_number(value: object) -> bool:
    return type(value) is int and 0 < value <= _LARGEST_NUMBER
