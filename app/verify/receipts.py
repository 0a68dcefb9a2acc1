"""The chain of receipts: gapless, each naming the digest of the one before (S04, L10)."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.digest import digest
from app.store import schema
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import World, value_of

_SAID = {"world": "world_id", "tick": "tick", "previous": "previous", "verb": "verb",
         "actor": "actor"}  # fmt: skip


def check(world: World) -> Iterator[Finding]:
    """Follow the chain from the first receipt to the one that the world's row names."""
    tick, last, sequence = 0, None, 0
    for receipt in world.rows(schema.receipts, ("tick",), large=("bytes",)):
        for absent in range(tick + 1, receipt.tick):
            yield missing("S04", schema.receipts, world.id, absent, what="the ticks have a gap")
        if receipt.tick == tick + 1 and receipt.previous != last:
            yield against("S04", schema.receipts, receipt, "it names another receipt before it")
        yield from _bytes(receipt)
        said = value_of(receipt.bytes) or {}
        for entity in _numbers(said.get("entities")):
            sequence += 1
            if entity != sequence:
                yield against("L10", schema.receipts, receipt, f"entity {entity} is out of turn")
                sequence = entity
        tick, last = receipt.tick, receipt.digest
    newest = {"tick": tick, "receipt_digest": last, "entity_sequence": sequence}
    for name, expected in newest.items():
        if getattr(world.row, name) != expected:
            what = f"its {name} is not that of its newest receipt ({tick})"
            yield against("S04", schema.worlds, world.row, what)


def _bytes(receipt: AnyRow) -> Iterator[Finding]:
    """What the columns say is what the bytes say, and the digest is theirs."""
    if digest(bytes(receipt.bytes)) != receipt.digest:
        yield against("S04", schema.receipts, receipt, "its digest is not that of its bytes")
    said = value_of(receipt.bytes)
    if said is None or said.get("v") != 1:
        yield against("S04", schema.receipts, receipt, "its bytes are no canonical receipt")
        return
    for name, column in _SAID.items():
        if said.get(name) != getattr(receipt, column):
            yield against("S04", schema.receipts, receipt, f"its {column} is not as its bytes say")


def _numbers(found: object) -> list[int]:
    return [one for one in found if type(one) is int] if isinstance(found, list) else []
