"""Which moments are counted, under which name: the one table of a process's own counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.domain.dead_letter import LetterCause
from app.domain.errors import ClaimNotLive, StaleFence
from app.domain.pruning import ALARMING
from app.domain.result import Outcome
from app.events import Moment
from app.kinds.registry import KINDS
from app.store.claims import Verdict
from app.store.deliveries import Cause

DISPATCHER, WORKER = "dispatcher", "worker"


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter: how often a moment came, by some of its facts."""

    name: str  #: without the `_total` that a scrape adds
    help: str
    moment: Moment
    roles: tuple[str, ...]
    labels: tuple[str, ...] = ()
    amount: str | None = None  #: the fact that says how many at once
    known: Mapping[str, Iterable[str]] = field(default_factory=dict)  #: what begins at zero


_KIND = {"kind": list(KINDS)}
_LOSSES = [StaleFence.code, ClaimNotLive.code, "not_renewed"]

COUNTED = (
    Counted("fencepost_activities_admitted", "Activities admitted from receipts",
            Moment.ADMITTED, (DISPATCHER,), ("kind",), known=_KIND),
    Counted("fencepost_deliveries_published", "Messages sent to Redis",
            Moment.PUBLISHED, (DISPATCHER,), ("kind",), known=_KIND),
    Counted("fencepost_deliveries_replaced", "Recoveries: deliveries made again, by cause",
            Moment.REPLACED, (DISPATCHER,), ("kind", "cause"), known={**_KIND, "cause": Cause}),
    Counted("fencepost_broker_wipes", "Times that Redis had lost its marker",
            Moment.BROKER_WIPED, (DISPATCHER,)),
    Counted("fencepost_claims_expired", "Claims ended because their lease ran out",
            Moment.CLAIM_EXPIRED, (DISPATCHER,), ("kind",), known=_KIND),
    Counted("fencepost_results_staged", "Results handed to their world",
            Moment.STAGED, (DISPATCHER,), ("kind",), known=_KIND),
    Counted("fencepost_ticks", "Ticks that observed results",
            Moment.TICKED, (DISPATCHER,)),
    Counted("fencepost_activities_settled", "Activities settled from receipts",
            Moment.SETTLED, (DISPATCHER,), ("kind",), known=_KIND),
    Counted("fencepost_claims", "Claims taken",
            Moment.CLAIMED, (WORKER,), ("kind",), known=_KIND),
    Counted("fencepost_claims_refused", "Messages dropped, by the verdict of their claim",
            Moment.VERDICT, (WORKER,), ("kind", "verdict"), known={**_KIND, "verdict": Verdict}),
    Counted("fencepost_claims_renewed", "Leases prolonged",
            Moment.RENEWED, (WORKER,), amount="renewed"),
    Counted("fencepost_claims_lost", "Claims that lost their authority, by the refusal's code",
            Moment.LOST, (WORKER,), ("kind", "code"), known={**_KIND, "code": _LOSSES}),
    Counted("fencepost_claims_released", "Claims handed back, for another claim",
            Moment.RELEASED, (WORKER,), ("kind",), known=_KIND),
    Counted("fencepost_claims_held", "Work held for a person, by code",
            Moment.HELD, (WORKER,), ("kind", "code")),
    Counted("fencepost_recovery_decisions", "What a claim found itself permitted to do",
            Moment.DECIDED, (WORKER,), ("kind", "permission")),
    Counted("fencepost_starts", "Starts committed; no process runs without one",
            Moment.STARTED, (WORKER,), ("kind",), known=_KIND),
    Counted("fencepost_forge_calls", "Calls to a forge committed, before they are sent",
            Moment.CALLED, (WORKER,), ("kind",), known=_KIND),
    Counted("fencepost_refs_pruned", "Operation refs deleted after their retention",
            Moment.REFS_PRUNED, (DISPATCHER,), amount="refs"),
    Counted("fencepost_refs_alarming", "Operation refs at odds with the end of their work, by code",
            Moment.REF_ALARMING, (DISPATCHER,), ("code",), known={"code": sorted(ALARMING)}),
    Counted("fencepost_results_recorded", "Results recorded, by outcome",
            Moment.RECORDED, (DISPATCHER, WORKER), ("kind", "outcome"),
            known={**_KIND, "outcome": Outcome}),
    Counted("fencepost_letters_buried", "Dead letters made by this process, by cause",
            Moment.BURIED, (DISPATCHER, WORKER), ("cause",), known={"cause": LetterCause}),
    Counted("fencepost_trouble", "Trouble that was said, by code",
            Moment.TROUBLE, (DISPATCHER, WORKER), ("code",)),
)  # fmt: skip
