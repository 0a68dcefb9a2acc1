"""What may follow what, written down a second time: the product's own tables are not asked."""

from __future__ import annotations

from collections.abc import Mapping

OPEN = ("draft", "submitted", "rejected", "approved", "active")

#: Verb → the states of a work order that allow it, and the one it leads to.
ORDER: Mapping[str, tuple[frozenset[str], str]] = {
    "submit": (frozenset({"draft"}), "submitted"),
    "approve": (frozenset({"submitted"}), "approved"),
    "reject": (frozenset({"submitted"}), "rejected"),
    "revise": (frozenset(OPEN), "draft"),
    "dispatch": (frozenset({"approved", "active"}), "active"),
    "retry": (frozenset({"approved", "active"}), "active"),
    "complete": (frozenset({"active"}), "completed"),
    "cancel_work_order": (frozenset(OPEN), "canceled"),
}

#: Column → where a person may hang a card that hangs there.
BY_HAND: Mapping[str, frozenset[str]] = {
    "inbox": frozenset({"ready", "canceled"}),
    "ready": frozenset({"inbox", "in_progress", "canceled"}),
    "in_progress": frozenset({"ready", "review", "done", "canceled"}),
    "review": frozenset({"in_progress", "done", "canceled"}),
    "canceled": frozenset({"inbox"}),
    "done": frozenset(),
}
#: The same for what follows from an attempt; a dispatch takes a card from where it may be run.
BY_ATTEMPT: Mapping[str, frozenset[str]] = {
    "in_progress": frozenset({"ready", "in_progress", "review", "done"}),
}
RUNNABLE = frozenset({"ready", "in_progress"})

#: Step states that nothing follows.
FINISHED = frozenset({"succeeded", "failed", "blocked", "skipped", "canceled"})

#: Ends of an attempt that may be retried, and how many characters the reason has (T03).
RETRIED = frozenset({"failed", "dead"})
SHORTEST_REASON = 10
