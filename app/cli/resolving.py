"""Deciding several unknowns under one word; what is refused does not stop the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.authority import Principal, require
from app.domain.decision import allowed
from app.domain.errors import Refused, ScopeMissing
from app.store.engine import Store
from app.store.views.unknowns import UnknownSeen, fence_of
from app.transitions.resolve import Word, allowed_within, proof_of, resolve


@dataclass(frozen=True, slots=True)
class One:
    """What became of one: decided, or the code of a refusal."""

    seen: UnknownSeen
    follows: str = ""
    code: str | None = None
    message: str | None = None

    def value(self) -> dict[str, object]:
        """For programs."""
        return {
            "id": self.seen.id, "world": self.seen.world, "kind": self.seen.kind,
            "attempt": self.seen.attempt, "held_as": self.seen.code, "follows": self.follows,
            "code": self.code, "message": self.message,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Resolver:
    """Whoever decides, and what is said."""

    store: Store
    principal: Principal
    word: Word
    key: str | None
    is_rehearsal: bool

    def one(self, seen: UnknownSeen, *, alone: bool) -> One:
        """Decide one. Of one alone, and of whoever may not decide at all, a refusal is raised."""
        try:
            require(self.principal, "resolve", seen.key.world)
            self._decide(seen, alone=alone)
        except ScopeMissing:
            raise  # for every one
        except Refused as fault:
            if alone:
                raise
            return One(seen, code=fault.code, message=f"{fault.message}; {fault.advice}")
        return One(seen, allowed(proof_of(seen.key.kind), seen.code)[self.word.decision])

    def _decide(self, seen: UnknownSeen, *, alone: bool) -> None:
        key, fence = seen.key, fence_of(seen)
        if self.is_rehearsal:
            with self.store.begin() as tx:
                allowed_within(tx, key, fence, self.word)
            return
        asked = self.key if alone or self.key is None else f"{self.key}/{seen.id[:16]}.{fence}"
        resolve(self.store, self.principal.id, key, fence, self.word, idempotency=asked)

    def exit_code(self, done: Sequence[One]) -> int:
        """0: nothing was refused; 2: everything was; 1: some."""
        refused = [one for one in done if one.code is not None]
        if not refused:
            return 0
        return 2 if len(refused) == len(done) else 1
