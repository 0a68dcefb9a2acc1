"""Keeping what a run found before it is published, where the remote keeps nothing for us."""

from __future__ import annotations

from app.domain.identity import Claim
from app.domain.result import Observation, ResultRef
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.kinds.rehearsal import rehearse
from app.store import results
from app.store.engine import Store


def deposit(store: Store, claim: Claim, observation: Observation) -> None:
    """The payload under the fence, and no result: whoever finds it published records it (M07).

    A claim that no longer holds is refused, and an observation that no tick could stage is
    UnfitInput. Either way nothing is changed, and nothing may be published.
    """
    reference = ResultRef(claim.key, claim.fence, observation.digest, observation.outcome)
    with store.begin() as tx:
        request, _ = results.presented(tx, claim)
        rehearse(KINDS[claim.key.kind], request, reference, observation)
        results.deposit(tx, claim, observation)
    emit(Moment.DEPOSITED, **claim.facts(), outcome=observation.outcome, digest=observation.digest)
