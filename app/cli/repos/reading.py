"""From a list of repositories to what is asked for on each; nothing is changed by it."""

from __future__ import annotations

from collections.abc import Iterator

from app.cli.base import inspect
from app.cli.order import Order, Wanted, check, order_of
from app.cli.progress import Say
from app.cli.repos import line
from app.cli.repos.entry import Entry
from app.cli.repos.line import Fault, Line
from app.cli.repos.pool import Pool
from app.domain.digest import digest_of
from app.domain.errors import BadInput, ProviderError, Refused
from app.repository.source import Source

AT_ONCE = 8  #: repositories that are looked at, or fetched
_PATIENCE = 0.2  #: seconds, so that Ctrl-C is heard


def read(path: str, wanted: Wanted, base: str | None, say: Say) -> list[Entry]:
    """Every repository of a list, in its order.

    A line that cannot be meant is refused together with all others of its kind: UnfitList. A
    remote that does not answer now is no fault of the list: its entry says so.
    """
    check(wanted)
    lines, faults = line.read(path)
    entries: list[Entry] = []
    for one, found in _looked_at(lines, base):
        match found:
            case Source():
                entries.append(_entry(one, order_of(wanted, found)))
            case Refused():
                faults.append(Fault(one.number, found.code, found.message))
            case ProviderError():
                entries.append(Entry(one.number, None, one.repository))
                entries[-1].refuse(found, by_a_rule=False)
            case _:
                raise found
    if faults:
        raise line.unfit(path, faults)
    if not lines:
        raise BadInput(f"{line.name_of(path)} names no repository", hint="write one on each line")
    return list(_each_once(path, sorted(entries, key=lambda entry: entry.line), say))


def _looked_at(lines: list[Line], base: str | None) -> Iterator[tuple[Line, Source | Exception]]:
    pool: Pool[Line, Source] = Pool(
        lambda one: inspect(one.repository, one.base or base), min(AT_ONCE, len(lines))
    )
    for one in lines:
        pool.give(one)
    while pool.pending:
        yield from pool.take(_PATIENCE)


def _entry(one: Line, order: Order) -> Entry:
    asked = {"repository": order.source.url, "asked": digest_of(order.specification.value())}
    return Entry(one.number, order, order.source.name, key=f"repos:{digest_of(asked)}")


def _each_once(path: str, entries: list[Entry], say: Say) -> Iterator[Entry]:
    """The entries without repetitions; what would have the name of another one has its address."""
    first: dict[str, int] = {}
    urls: dict[str, set[str]] = {}
    for entry in entries:
        urls.setdefault(entry.name, set()).add(entry.url)
    for entry in entries:
        if entry.key and (known := first.setdefault(entry.key, entry.line)) != entry.line:
            say(f"{line.name_of(path)}:{entry.line} is the same as line {known}: it is done once",
                code="same_line")  # fmt: skip
            continue
        if len(urls[entry.name]) > 1:
            entry.name = entry.url
        if (order := entry.order) is not None and order.source.dirty:
            say(f"warning: {order.source.url} has changes that no commit holds; "
                f"{order.source.sha[:12]} is used as it is", code="dirty")  # fmt: skip
        yield entry
