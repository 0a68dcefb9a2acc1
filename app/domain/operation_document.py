"""The files of one commit in an operation's chain: written canonically, read with suspicion."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.digest import canonical, digest, parse
from app.domain.errors import UnfitInput
from app.domain.identity import Claim, Fence, OperationId
from app.domain.operation import Mark

OPERATION_FILE = "operation.json"
OBSERVATION_FILE = "observation.json"
VERSION = 1

_FIELDS = {"v", "mark", "operation", "world", "kind", "activity", "fence", "token_hash"}
_RESULT_FIELDS = _FIELDS | {"observation_digest", "candidate"}
_HEX64 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Document:
    """What `operation.json` says, each field checked."""

    mark: Mark
    operation: OperationId
    fence: Fence
    token_hash: str
    observation_digest: str | None
    candidate: str | None


def write_document(
    operation: OperationId,
    claim: Claim,
    mark: Mark,
    observation: bytes | None,
    candidate: str | None,
) -> bytes:
    """The canonical bytes of `operation.json`."""
    fields: dict[str, str | int | None] = {
        "v": VERSION,
        "mark": mark.value,
        "operation": operation,
        "world": claim.key.world,
        "kind": claim.key.kind,
        "activity": claim.key.activity,
        "fence": claim.fence,
        "token_hash": claim.token_hash,
    }
    if observation is not None:
        fields |= {"observation_digest": digest(observation), "candidate": candidate}
    return canonical(fields)


def read_document(data: bytes) -> Document:
    """Read `operation.json`; anything that we would not have written is UnfitInput."""
    fields = parse(data)
    if not isinstance(fields, dict):
        raise UnfitInput("not an object")
    if fields.get("v") != VERSION:
        raise UnfitInput("of another version")
    try:
        mark = Mark(str(fields.get("mark")))
    except ValueError:
        raise UnfitInput("no such mark") from None
    if set(fields) != (_RESULT_FIELDS if mark is Mark.RESULT else _FIELDS):
        raise UnfitInput("fields missing or too many")
    fence = fields["fence"]
    if isinstance(fence, bool) or not isinstance(fence, int) or fence < 1:
        raise UnfitInput("its fence is not a positive integer")
    for name in ("world", "kind", "activity"):
        if not isinstance(fields[name], str) or not fields[name]:
            raise UnfitInput(f"its {name} is empty")
    candidate = fields.get("candidate")
    if candidate is not None and not isinstance(candidate, str):
        raise UnfitInput("its candidate is not a commit")
    return Document(
        mark=mark,
        operation=OperationId(_hex64(fields["operation"])),
        fence=Fence(fence),
        token_hash=_hex64(fields["token_hash"]),
        observation_digest=_hex64(fields["observation_digest"]) if mark is Mark.RESULT else None,
        candidate=candidate,
    )


def _hex64(value: object) -> str:
    if not isinstance(value, str) or not _HEX64.fullmatch(value):
        raise UnfitInput("a digest is malformed")
    return value
