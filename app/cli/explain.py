"""`fencepost explain`: any id as a story, from rows alone."""

from __future__ import annotations

import click

from app import config
from app.cli import stack, waiting_told
from app.cli.budget_told import tell_budget
from app.cli.follow import Follower, News
from app.cli.looks_told import shortened
from app.cli.shown import as_json, elapsed, painted, plain
from app.cli.telling import journal_sentence, sentence
from app.store.engine import Store
from app.store.views.attempt import AttemptSeen, receipts_of
from app.store.views.budget import budget_seen
from app.store.views.finding import Found, find
from app.store.views.letter import letter_behind
from app.store.views.story import Entry
from app.store.views.within import attempts_within


@click.command()
@click.argument("id_")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def command(id_: str, in_full: bool) -> None:
    """Tell the story of an attempt, a task, a work order or an activity.

    Who held which fence and why it was lost, which call was uncertain and what proved the answer.
    """
    with stack.opened(config.read()) as store:
        with store.begin() as tx:
            found = find(tx, id_)
            ids = attempts_within(tx, found)
        told = [Follower(store, found.world, one).look() for one in ids]
        if in_full:
            return as_json([{"attempt": seen, "story": news} for seen, news in told])
        if not told:
            print(f"{found.what} {found.id} has no attempt yet")
        for seen, news in told:
            _tell(store, seen, [one for one in news if _belongs(one, found)])
    return None


def _belongs(news: News, found: Found) -> bool:
    return found.what != "activity" or (news.told.activity, news.told.kind) == (
        found.id, found.kind,
    )  # fmt: skip


def _tell(store: Store, seen: AttemptSeen, news: list[News]) -> None:
    with store.begin() as tx:
        receipts = receipts_of(tx, seen)
        budget = budget_seen(tx, seen.world, seen.work_order)
        letter = letter_behind(tx, seen.world, seen.id)
        waits = waiting_told.told(tx, seen)
    print(painted(f"attempt {seen.id}, number {seen.number}: {plain(seen.title)}", "bold"))
    print(f"  of task {seen.task} ({seen.column}), work order {seen.work_order}, "
          f"repository {seen.repository_name} ({seen.repository})")  # fmt: skip
    why = f" because: {plain(seen.reason)}" if seen.reason else ""
    print(f"  dispatched by {seen.actor} in receipt {seen.tick}{why}, at {seen.created_at:%FT%TZ}")
    if letter is not None:
        print(f"  the replay of dead letter {letter.id} ({letter.cause}), which attempt "
              f"{letter.attempt} left")  # fmt: skip
    for step in seen.steps:
        print()
        activity = f"  {step.kind}/{step.activity[:12]}" if step.activity else ""
        print(painted(f"step {step.name}: {step.state}", "bold") + activity)
        if step.name in waits:
            print(f"  {waits[step.name]}")
        those, left_out = shortened([one for one in news if one.step == step.name])
        for one in those:
            if words := _words(one):
                print(f"  {elapsed(one.at - seen.created_at):>9}  {words}")
        if left_out:
            print(f"  {'':>9}  {left_out} looks in between found nothing new; --json has them")
    print()
    how = f"ended as {seen.outcome}" if seen.outcome else "has not ended"
    print(f"{how} after {elapsed(seen.elapsed)}; its receipts:")
    for receipt in receipts:
        print(f"  {receipt.tick:>9}  {receipt.verb} by {receipt.actor}, at {receipt.at:%FT%TZ}")
    tell_budget(budget)
    if seen.unknown:
        print("a person has to decide; nothing is started again until then")
        print(f"next: fencepost unknown show {seen.id}")
    else:
        print(f"next: fencepost attempts show {seen.id}")


def _words(news: News) -> str | None:
    told = news.told
    return sentence(told) if isinstance(told, Entry) else journal_sentence(told)
