"""A story without the many looks of a step that watches; each of them says the same."""

from __future__ import annotations

from collections.abc import Sequence

from app.cli.follow import News
from app.domain.checks import WAITING
from app.store.views.story import Entry


def shortened(news: Sequence[News]) -> tuple[list[News], int]:
    """What of a step's story is told, and how many looks between the first and the last are not."""
    looks = {
        (one.told.facts["fence"], one.told.facts["delivery"])
        for one in news
        if isinstance(one.told, Entry) and one.told.what == "claim.ended"
        and str(one.told.facts["end_detail"]).startswith(f"{WAITING}: ")
    }  # fmt: skip
    between = sorted(looks, key=lambda look: int(str(look[0])))[1:-1]
    fences, deliveries = {fence for fence, _ in between}, {number for _, number in between}

    def is_told(one: News) -> bool:
        if not isinstance(one.told, Entry):
            return True
        facts = one.told.facts
        if one.told.what.startswith("claim."):
            return facts.get("fence") not in fences
        return not (one.told.what.startswith("delivery.") and facts.get("number") in deliveries)

    return [one for one in news if is_told(one)], len(between)
