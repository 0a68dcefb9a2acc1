"""The local forge's requests as they stand: what the ledger says, seen beside the branches."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.digest import canonical, parse
from app.domain.errors import NotFound, PushLost
from app.domain.pull_request import RequestState
from app.repository import ledger
from app.repository.mirror import Mirror
from app.repository.refs import Move, move, tips

HEADS = "refs/heads/"
_TRIES = 100
_LONGEST_PAUSE = 0.3  #: seconds


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A numbered request to merge one branch of the mirror into another."""

    number: int
    state: RequestState
    title: str
    body: str
    head: str  #: branch
    head_sha: str  #: follows the branch while the request is open
    base: str  #: branch
    base_sha: str  #: likewise; of a merged one, the base before the merge
    merged_sha: str | None
    opened_at: int  #: seconds since the epoch, by this machine's clock
    url: str  #: for people: the mirror's path and the number


@dataclass(frozen=True, slots=True)
class Book:
    """Every request as of one reading."""

    git_dir: Path
    ledger: ledger.Ledger
    requests: Mapping[int, PullRequest]
    tips: Mapping[str, str]

    def url(self, number: int) -> str:
        """How people name a request."""
        return f"{self.git_dir}#{number}"


@dataclass(frozen=True, slots=True)
class Change:
    """One request's next form, and the branches that move or stand still together with it."""

    request: PullRequest
    why: str
    moves: tuple[Move, ...] = ()


def read(mirror: Mirror) -> Book:
    """Read the requests; an open one whose head branch is gone counts as closed."""
    now = tips(mirror.git_dir, HEADS, "refs/pull/", ledger.REF)
    written = ledger.read(mirror.git_dir, now.get(ledger.REF))
    book = Book(mirror.git_dir, written, {}, now)
    requests = {
        number: _seen(_from_bytes(document, book.url(number)), now)
        for number, document in written.documents.items()
    }
    return replace(book, requests=requests)


def look(book: Book, number: int) -> PullRequest:
    """One request of the book, or NotFound."""
    if number not in book.requests:
        raise NotFound(f"no request #{number}", hint="see `fencepost pull-requests list`")
    return book.requests[number]


def change(mirror: Mirror, decide: Callable[[Book], Change]) -> PullRequest:
    """Read, decide, and move ledger and branches in one transaction; a lost race starts again."""
    for turn in range(_TRIES):
        book = read(mirror)
        decision = decide(book)
        try:
            move(mirror.git_dir, _moves(book, decision))
        except PushLost:
            # Writers that stay in step would all read, and all but one write in vain, each time.
            time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.01 * 2**turn)))
            continue
        return decision.request
    raise PushLost("others change the forge's requests again and again")


def _moves(book: Book, decision: Change) -> list[Move]:
    """Branches first, then the ledger, then what follows from it.

    Everybody locks branches in the order of their names, so no two writers wait for each other.
    """
    requests = {**book.requests, decision.request.number: decision.request}
    documents = {number: _to_bytes(request) for number, request in requests.items()}
    changed = {
        number: document for number, document in documents.items()
        if book.ledger.documents.get(number) != document
    }  # fmt: skip
    entry = ledger.append(book.git_dir, book.ledger, changed, decision.why)
    pulls = [(f"refs/pull/{number}/head", requests[number].head_sha) for number in requests]
    return [
        *sorted(decision.moves, key=lambda step: step.ref),
        entry,
        *(Move(ref, book.tips.get(ref), sha) for ref, sha in pulls if book.tips.get(ref) != sha),
    ]


def _seen(request: PullRequest, now: Mapping[str, str]) -> PullRequest:
    if request.state is not RequestState.OPEN:
        return request
    head = now.get(HEADS + request.head)
    if head is None:
        return replace(request, state=RequestState.CLOSED)
    base = now.get(HEADS + request.base, request.base_sha)
    return replace(request, head_sha=head, base_sha=base)


def _to_bytes(request: PullRequest) -> bytes:
    return canonical({name: value for name, value in asdict(request).items() if name != "url"})


def _from_bytes(document: bytes, url: str) -> PullRequest:
    fields: Any = parse(document)
    return PullRequest(**{**fields, "state": RequestState(fields["state"])}, url=url)
