"""What workers write down under their fence while they act; the trigger judges every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from app.domain.digest import Digest, digest
from app.domain.errors import DigestConflict
from app.domain.event import Entry
from app.domain.identity import ActivityKey, Claim, Fence, OperationId
from app.domain.operation import Mode
from app.store.engine import Tx
from app.store.fencing import fenced, of_key, present
from app.store.schema import artifacts, bindings, effect_answers, effect_calls, events, starts


@dataclass(frozen=True, slots=True)
class Start:
    """What one process was permitted on: a mark at the remote, or where none can be, no mark."""

    sha: str | None  #: of the mark; None in the mode `database` alone
    mode: Mode


@dataclass(frozen=True, slots=True)
class EffectCall:
    """A call that may have reached the provider, and its answer if there was one."""

    fence: Fence
    number: int
    call: str
    digest: Digest
    outcome: str | None


def bind(tx: Tx, claim: Claim, operation: OperationId) -> None:
    """Name the provider's operation, once; another name later is DigestConflict."""
    present(tx, claim)
    tx.execute(
        upsert(bindings).values(**fenced(claim), operation_id=operation).on_conflict_do_nothing()
    )
    bound = tx.execute(
        select(bindings.c.operation_id).where(of_key(bindings, claim.key))
    ).scalar_one()
    if bound != operation:
        raise DigestConflict(f"{claim.key} is bound to another operation")


def start(tx: Tx, claim: Claim, sha: str | None, mode: Mode = Mode.REF) -> None:
    """Permit one process: the mark that is at the remote is named by its commit."""
    present(tx, claim)
    tx.execute(insert(starts).values(**fenced(claim), sha=sha, mode=mode))


def starts_of(tx: Tx, key: ActivityKey) -> dict[Fence, Start]:
    """Every start of an activity, by its fence."""
    rows = tx.execute(
        select(starts.c.fence, starts.c.sha, starts.c.mode).where(of_key(starts, key))
    )
    return {Fence(row.fence): Start(row.sha, Mode(row.mode)) for row in rows}


def call(tx: Tx, claim: Claim, name: str, request: bytes) -> EffectCall:
    """Write down a call before it is sent."""
    present(tx, claim)
    number = tx.execute(
        select(func.count()).select_from(effect_calls)
        .where(of_key(effect_calls, claim.key), effect_calls.c.fence == claim.fence)
    ).scalar_one() + 1  # fmt: skip
    tx.execute(
        insert(effect_calls).values(
            **fenced(claim), n=number, call=name, request=request, digest=digest(request)
        )
    )
    return EffectCall(claim.fence, number, name, digest(request), None)


def answer(tx: Tx, claim: Claim, to: EffectCall, outcome: str, evidence: bytes) -> None:
    """Write down how a call ended, whoever sent it."""
    present(tx, claim)
    tx.execute(
        upsert(effect_answers).values(
            **fenced(claim), call_fence=to.fence, n=to.number, outcome=outcome,
            evidence=evidence, digest=digest(evidence),
        ).on_conflict_do_nothing()
    )  # fmt: skip


def calls_of(tx: Tx, key: ActivityKey) -> list[EffectCall]:
    """Every call of an activity with its answer, oldest first."""
    rows = tx.execute(
        select(effect_calls.c.fence, effect_calls.c.n, effect_calls.c.call, effect_calls.c.digest,
               effect_answers.c.outcome)
        .outerjoin(
            effect_answers,
            of_key(effect_answers, key) & (effect_answers.c.call_fence == effect_calls.c.fence)
            & (effect_answers.c.n == effect_calls.c.n),
        )
        .where(of_key(effect_calls, key))
        .order_by(effect_calls.c.fence, effect_calls.c.n)
    )  # fmt: skip
    return [EffectCall(Fence(r[0]), r[1], r[2], r[3], r[4]) for r in rows]


def journal(tx: Tx, claim: Claim, first: int, entries: Sequence[Entry]) -> None:
    """Append events, numbered from `first` within the claim, and by the database in the attempt.

    The exact repeat adds nothing (O04); anything else under the number or key is DigestConflict.
    """
    present(tx, claim)
    rows = [
        {**fenced(claim), "n": number, "type": entry.type, "key": entry.key, "value": entry.value}
        for number, entry in enumerate(entries, first)
    ]
    tx.execute(insert(events), rows)


def keep(
    tx: Tx, claim: Claim, name: str, media_type: str, data: bytes, key: str | None = None
) -> None:
    """Keep an artifact; the exact repeat adds nothing (O04).

    Others under the name or key are DigestConflict, and more bytes than allowed ArtifactLimit.
    """
    present(tx, claim)
    tx.execute(
        insert(artifacts).values(
            **fenced(claim), name=name, media_type=media_type, key=key, bytes=data,
            digest=digest(data),
        )
    )  # fmt: skip
