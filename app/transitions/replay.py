"""Replaying a dead letter, once: dead work gets another attempt, a message another delivery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.domain.dead_letter import (
    LetterEnded,
    LetterHeld,
    LetterSuperseded,
    NothingToReplay,
    Spoken,
    UnknownIdentity,
    spoken_of,
)
from app.domain.digest import Json, text
from app.domain.errors import IdempotencyConflict, NoRecoveryReason, NotFound, UnfitInput
from app.domain.identity import ActivityKey, DeliveryNumber, WorldId
from app.domain.task import SHORTEST_REASON, Standing, check_retry, check_runnable
from app.events import Moment, emit
from app.store import activities, attempts, dead_letters, deliveries, results, unknowns
from app.store.dead_letters import Letter, Replay
from app.store.deliveries import Cause
from app.store.engine import Store, Tx
from app.store.listening import wake
from app.transitions.change import Change, Command
from app.transitions.deliver import deliver_within
from app.transitions.dispatch import Base, append
from app.transitions.perform import LONGEST_KEY, perform

#: World, task → what its work starts from; asked outside of any transaction.
BaseOf = Callable[[WorldId, str], Base]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for replays, and why; under one batch there is one asker with one reason."""

    actor: str
    reason: str
    batch: str
    is_rehearsal: bool = False  #: everything is tried, and nothing is kept


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a letter, now or before."""

    replay: Replay
    is_new: bool


def replay(store: Store, asked: Asked, letter_id: int, base_of: BaseOf) -> Replayed:
    """Replay a letter unless that was done before, whoever asked; then say what came of it (Q05).

    The row that says so commits together with what came of it. Refused as they are: whatever may
    not be retried (T02, T03, T11), NothingToReplay, UnknownIdentity, LetterEnded, LetterHeld,
    LetterSuperseded. A batch of somebody else, or with another reason, is IdempotencyConflict.
    """
    asked = replace(asked, reason=text(asked.reason).strip())
    with store.begin() as tx:
        check(tx, asked)
        letter, known = dead_letters.get(tx, letter_id), dead_letters.replay_of(tx, letter_id)
    if known is not None:
        return Replayed(known, is_new=False)
    again = _deliver_again if letter.key is None else _attempt_again
    try:
        done = again(store, asked, letter, base_of)
    except _Known as found:
        return Replayed(found.replay, is_new=found.is_new)
    emit(Moment.LETTER_REPLAYED, **done.key.facts(), letter=letter_id, batch=done.batch)
    return Replayed(done, is_new=True)


def check(tx: Tx, asked: Asked) -> None:
    """Refuse what is wrong with the asking, whatever the letter."""
    why = text(asked.reason).strip()
    if len(why) < SHORTEST_REASON:
        raise NoRecoveryReason(
            f"a replay's reason has at least {SHORTEST_REASON} characters, not {why!r}"
        )
    if not 0 < len(asked.batch) <= LONGEST_KEY:
        raise UnfitInput(f"a batch's key has 1 to {LONGEST_KEY} characters")
    if dead_letters.asked_for(tx, asked.batch) not in (None, (asked.actor, why)):
        raise IdempotencyConflict(
            f"the batch {asked.batch} was begun by somebody else, or for another reason"
        )


def subject_of(letter: Letter) -> ActivityKey | None:
    """The activity that a letter is about, if it says any."""
    if letter.key is not None:
        return letter.key
    spoken = spoken_of(letter.bytes or b"")
    return None if spoken is None else spoken.key


class _Known(Exception):
    """It was replayed meanwhile, or this is a rehearsal: in either case nothing is committed."""

    def __init__(self, replay: Replay, *, is_new: bool) -> None:
        super().__init__()
        self.replay, self.is_new = replay, is_new


def _attempt_again(store: Store, asked: Asked, letter: Letter, base_of: BaseOf) -> Replay:
    """A retry of the task whose latest attempt the letter is of; the dead one stays dead."""
    assert letter.key is not None
    key, world = letter.key, letter.key.world
    with store.begin() as tx:
        dead = activities.get(tx, key).attempt
        task = str(attempts.get(tx, world, dead).task_id)
    base = base_of(world, task)

    def fits(standing: Standing) -> None:
        latest = standing.latest
        if latest is not None and latest.id != dead:
            raise LetterSuperseded(
                f"attempt {latest.id} of task {task} is newer than {dead}, which the letter is of"
            )
        check_runnable(standing)
        check_retry(standing, asked.reason, dead)

    done: Replay | None = None

    def act(change: Change) -> dict[str, Json]:
        nonlocal done
        _look_again(change.tx, letter)  # the world is locked now
        answer = append(change, asked.actor, task, base, asked.reason, fits)
        done = _came(asked, letter, key, attempt=str(answer["attempt"]), tick=change.world.tick)
        _keep(change.tx, asked, done)
        return answer

    request: dict[str, Json] = {
        "task": task, "base": base.branch, "of": dead, "letter": letter.id, "batch": asked.batch,
    }  # fmt: skip
    perform(store, world, Command("retry", asked.actor, request, asked.reason), act)
    assert isinstance(done, Replay)
    emit(Moment.DISPATCHED, world=world, task=task, attempt=str(done.attempt))
    return done


def _deliver_again(store: Store, asked: Asked, letter: Letter, base_of: BaseOf) -> Replay:
    """Another delivery of the activity that the message was for, if nobody has seen to it yet."""
    spoken = spoken_of(letter.bytes or b"")
    if spoken is None:
        raise NothingToReplay(f"dead letter {letter.id} ({letter.cause}) names no activity")
    key = spoken.key
    with store.begin() as tx:
        _check_open(tx, spoken)
        _look_again(tx, letter)
        number = deliver_within(tx, key, Cause.REPLAYED)
        if number is None:
            raise LetterHeld(f"{key}: its claims keep ending, so a person is asked")
        done = _came(asked, letter, key, delivery=number)
        _keep(tx, asked, done)
        wake(tx)
    emit(Moment.REPLACED, **key.facts(), delivery=number, cause=Cause.REPLAYED)
    return done


def _check_open(tx: Tx, spoken: Spoken) -> None:
    """Lock the activity, and refuse one that has ended, or that somebody has seen to."""
    key = spoken.key
    try:
        activity = activities.lock(tx, key)  # lock first, look, then change
    except NotFound as fault:
        raise UnknownIdentity(f"no activity {key} was ever admitted") from fault
    if (result := results.find(tx, key)) is not None:
        raise LetterEnded(f"{key} of attempt {activity.attempt} has ended: {result.outcome}")
    if unknowns.find_open(tx, key) is not None:
        raise LetterHeld(f"{key} of attempt {activity.attempt} is held for a person")
    if not activities.is_waiting(tx, key):
        raise LetterSuperseded(f"{key} of attempt {activity.attempt} has a worker")
    under_way = deliveries.open_number(tx, key)
    if under_way not in (None, spoken.delivery):
        raise LetterSuperseded(f"{key} is under way again, by delivery {under_way}")


def _look_again(tx: Tx, letter: Letter) -> None:
    """Under the lock nobody else can be replaying it."""
    if (known := dead_letters.replay_of(tx, letter.id)) is not None:
        raise _Known(known, is_new=False)


def _keep(tx: Tx, asked: Asked, done: Replay) -> None:
    dead_letters.keep_replay(tx, done)
    if asked.is_rehearsal:
        raise _Known(done, is_new=True)  # rolls everything back


def _came(
    asked: Asked, letter: Letter, key: ActivityKey, *, attempt: str | None = None,
    tick: int | None = None, delivery: DeliveryNumber | None = None,
) -> Replay:  # fmt: skip
    return Replay(
        letter.id, key, asked.batch, asked.actor, asked.reason, attempt,
        delivery, tick,
    )  # fmt: skip
