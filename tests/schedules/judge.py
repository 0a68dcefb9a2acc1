"""What became of a run, read at the server and in the rows; the client is not asked."""

from __future__ import annotations

import re

from doubles.github.schedule import schedule
from fixtures.seen import Seen
from schedules.naive import Came
from schedules.run import Run
from schedules.site import LOGIN
from sqlalchemy import func, select

from app.domain.decision import MISSING_REF, UNRESOLVED, Decision
from app.kinds import author, pull_request
from app.store.schema import effect_answers, effect_calls, unknowns

REQUEST = pull_request.NAME


def wrong(run: Run) -> list[str]:
    """Every promise that was broken in a run; call it once nothing more can arrive late."""
    seen = Seen(run.site.store, run.site.worker.mirrors, run.attempt)
    return [*_requests(run, seen), *_ends(run, seen), *_runs(run, seen)]


def came_of_ours(run: Run) -> Came:
    """The same that is counted of other strategies."""
    seen = Seen(run.site.store, run.site.worker.mirrors, run.attempt)
    ours = [one for one in run.site.door.pulls(full_name=run.name) if one["by"] == LOGIN]
    named = _named(run) + str(seen.observation(REQUEST) if REQUEST in seen.kinds else "")
    unknown = [
        one for one in ours
        if one["state"] != "closed" and not _is_named(one["number"], named)
    ]  # fmt: skip
    is_over = seen.outcome is not None
    is_recorded = seen.outcome == "done" and not _has_adopted(run)
    return Came(
        len(ours), len(unknown), is_recorded, is_held=not is_over,
        is_ended=is_over and not is_recorded,
    )  # fmt: skip


def attested(run: Run, kind: str, code: str) -> int:
    """How often the operator vouched that nothing came of what was begun."""
    return sum(
        (one.key.kind, one.code, one.decision) == (kind, code, Decision.ATTEST_ABSENCE)
        for one in run.decided
    )


def _requests(run: Run, seen: Seen) -> list[str]:
    """One request of ours for the candidate; a further one only on an operator's word (§6)."""
    pulls = run.site.door.pulls(full_name=run.name)
    ours = [one for one in pulls if one["by"] == LOGIN]
    alive = [one for one in ours if one["state"] != "closed"]
    vouched = 0 if _shows_at_once(run) else attested(run, REQUEST, UNRESOLVED)
    found = []
    if len(ours) > 1 + vouched:
        found.append(f"{len(ours)} requests of ours, {vouched} absences attested")
    if len(alive) > 1:
        found.append(f"{len(alive)} requests of ours are open or merged")
    if len({one["head"] for one in ours}) < len(ours):
        found.append("two requests of ours have one head")
    if seen.outcome == "done":
        if len(ours) != 1 and not vouched and not _has_adopted(run):
            found.append(f"it is done, with {len(ours)} requests of ours")
        recorded = str(seen.observation(REQUEST))
        if not any(f'"number":{one["number"]},' in recorded for one in pulls):
            found.append("it is done, and its number is no request's")
    stored = run.site.door.count(method="POST", path=f"/repos/{run.name}/pulls", stored=True)
    if stored != len(ours):
        found.append(f"{stored} POSTs were stored, and {len(ours)} requests are ours")
    if _calls(run) < run.site.door.count(method="POST", path=f"/repos/{run.name}/pulls"):
        found.append("there were more POSTs than rows that permit one")
    return found


def _shows_at_once(run: Run) -> bool:
    """Nothing is stored or shown late in this run: then no word, however wrong, makes a second."""
    return not any(
        step.door == "add_lag" or str(step.arguments.get("kind")).startswith("late")
        for step in schedule(run.seed, run.name)
    )


def _ends(run: Run, seen: Seen) -> list[str]:
    """It ended with everything settled, or it is in the inbox and the operator has had his say."""
    held = [code for key in run.keys if (code := run.held(key))]
    if seen.outcome is not None:
        return [] if seen.is_over and not held else ["it ended, and something is left of it"]
    if not held:
        return ["it has no end, and nobody is asked"]
    return [] if run.operator.is_silent else ["it is held, and not every decision was tried"]


def _runs(run: Run, seen: Seen) -> list[str]:
    """The agent ran once, whatever went wrong with what it made."""
    found = [f"a fault of our own: {one!r}" for one in run.faults]
    vouched = attested(run, author.NAME, MISSING_REF)
    if seen.starts() > 1 + vouched:
        found.append(f"{seen.starts()} starts of the agent, {vouched} attested")
    return found


def _calls(run: Run) -> int:
    with run.site.store.begin() as tx:
        query = select(func.count()).where(effect_calls.c.world_id == run.attempt.world)
        return int(tx.execute(query.select_from(effect_calls)).scalar_one())


def _has_adopted(run: Run) -> bool:
    return any(one.decision is Decision.ADOPT for one in run.decided)


def _is_named(number: int, words: str) -> bool:
    return re.search(rf'#{number}\b|"number":{number},', words) is not None


def _named(run: Run) -> str:
    """What answers of calls, and what persons were told, say of requests."""
    world = run.attempt.world
    with run.site.store.begin() as tx:
        answers = select(effect_answers.c.evidence).where(effect_answers.c.world_id == world)
        told = select(unknowns.c.detail).where(unknowns.c.world_id == world)
        return " ".join(
            [*(bytes(one).decode() for one in tx.execute(answers).scalars()),
             *tx.execute(told).scalars()]
        )  # fmt: skip


def reasons(run: Run) -> list[str]:
    """Why persons were asked, oldest first."""
    with run.site.store.begin() as tx:
        query = select(unknowns.c.code).where(unknowns.c.world_id == run.attempt.world)
        return list(tx.execute(query.order_by(unknowns.c.opened_at)).scalars())
