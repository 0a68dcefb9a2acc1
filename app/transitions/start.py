"""The start row: the point in time after which a cancel can only reconcile."""

from __future__ import annotations

from app.domain.identity import Claim
from app.domain.operation import Mode
from app.events import Moment, emit
from app.store import evidence
from app.store.engine import Store


def start(store: Store, claim: Claim, sha: str | None, mode: Mode = Mode.REF) -> None:
    """Permit one process; without this row none may run. Stopped work is refused (ZF003).

    `sha` is the mark at the remote that it stands on; there is none in the mode `database`.
    """
    with store.begin() as tx:
        evidence.start(tx, claim, sha, mode)
    emit(Moment.STARTED, **claim.facts(), sha=sha or "", mode=mode)
