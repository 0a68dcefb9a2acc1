"""Burying a message that is no delivery."""

from __future__ import annotations

from app.domain.dead_letter import LetterCause
from app.events import Moment, emit
from app.store import dead_letters
from app.store.engine import Store


def bury(store: Store, queue: str, cause: LetterCause, message: bytes) -> int:
    """Keep a message as a dead letter, and return its number (Q04).

    Its first 256 KiB are kept, and its whole size.
    """
    with store.begin() as tx:
        letter = dead_letters.bury_bytes(tx, queue, cause, message)
    emit(Moment.BURIED, letter=letter, queue=queue, cause=cause, size=len(message))
    return letter
