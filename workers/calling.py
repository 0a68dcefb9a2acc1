"""The one call that opens a request: its row first, then the POST, then what came of it (§6)."""

from __future__ import annotations

from app import secrecy
from app.domain.digest import Json, canonical, digest, text
from app.domain.errors import ForgeRefused, ForgeUncertain, RemoteUnreadable, RequestExists
from app.domain.pull_request import ForgeLimited, ForgeNotReady, ForgeRequest
from app.events import Moment, emit
from app.store.evidence import EffectCall
from app.transitions.answer import answer
from app.transitions.call import call
from workers.forges.base import Forge, RequestDraft
from workers.worker import Run


def send(run: Run, forge: Forge, draft: RequestDraft) -> ForgeRequest | None:
    """Send a request once, and write down the answer; None: what is there must show itself.

    ForgeNotReady, ForgeLimited and RemoteUnreadable: nothing was done, and another call may follow.
    ForgeRefused: nothing was done, for good.
    """
    row = call(run.store, run.claim, "create_pull_request", sent(draft))
    try:
        made = forge.create(draft)
    except (RequestExists, ForgeLimited, ForgeNotReady, RemoteUnreadable) as fault:
        answer(run.store, run.claim, row, "refused", _evidence(fault.message))
        if not isinstance(fault, RequestExists):
            raise
        return None
    except ForgeRefused as fault:
        answer(run.store, run.claim, row, "failed", _evidence(fault.message))
        raise
    except ForgeUncertain:
        return None  # the call stays unresolved: look, and never send another
    emit(Moment.OPENED, **run.claim.facts(), number=made.number)
    answer(run.store, run.claim, row, "created", canonical(shown(made)))
    return made


def adopt(run: Run, calls: list[EffectCall], draft: RequestDraft, known: ForgeRequest) -> None:
    """Answer every open call of this draft: the request that is there came of it."""
    of_it = digest(sent(draft))
    for one in calls:
        if one.outcome is None and one.digest == of_it:
            answer(run.store, run.claim, one, "adopted", canonical(shown(known)))


def sent(draft: RequestDraft) -> bytes:
    """What the row of a call says of it; the same for the same head, whoever calls."""
    return canonical(
        {
            "title": draft.title, "head": draft.head, "base": draft.base,
            "body_digest": digest(draft.marked_body.encode()),
        }
    )  # fmt: skip


def shown(request: ForgeRequest) -> dict[str, Json]:
    """What identifies the request; its state changes later and is no part of it."""
    return {
        "number": request.number,
        "url": text(request.url),
        "head": text(request.head),
        "head_sha": request.head_sha,
        "base": text(request.base),
    }


def _evidence(message: str) -> bytes:
    return canonical({"message": text(secrecy.redacted(message))[:4000]})
