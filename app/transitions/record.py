"""Recording what the provider did, once."""

from __future__ import annotations

from app.domain.identity import Claim
from app.domain.result import Observation, ResultRef
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.kinds.rehearsal import rehearse
from app.store import results
from app.store.engine import Store


def record(store: Store, claim: Claim, observation: Observation) -> ResultRef:
    """Payload, result and end in one transaction under the fence.

    An exact repeat returns the same reference. Another digest is DigestConflict; a claim that no
    longer holds is refused; one that no tick could stage is UnfitInput. Either way nothing is
    changed.
    """
    key = claim.key
    with store.begin() as tx:
        reference = ResultRef(key, claim.fence, observation.digest, observation.outcome)
        request, known = results.presented(tx, claim)
        rehearse(KINDS[key.kind], request, reference, observation)
        reference = results.add(tx, claim, observation, known)
    emit(Moment.RECORDED, **claim.facts(), outcome=reference.outcome, digest=reference.digest)
    return reference
