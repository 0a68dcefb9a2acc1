"""The local forge's numbered pull requests (docs/decisions/0005-local-forge-ledger.md)."""

from __future__ import annotations

import time
from dataclasses import replace

from app.domain.digest import text
from app.domain.errors import ForgeRefused, MergeRefused, RequestExists, WrongState
from app.domain.pull_request import RequestState
from app.repository.book import HEADS, Book, Change, PullRequest, change, look, read
from app.repository.git import attempt, git
from app.repository.ledger import IDENTITY
from app.repository.mirror import Mirror
from app.repository.refs import Move, is_ancestor

__all__ = ["PullRequest", "close", "diff", "list_requests", "merge", "open_request", "show"]


def open_request(mirror: Mirror, title: str, body: str, head: str, base: str) -> PullRequest:
    """Open a request under the next number; two that open at once get different ones.

    An open one for the same head and base is RequestExists; a blank title, a missing branch and a
    head without commits of its own are ForgeRefused.
    """
    if not title.strip():
        raise ForgeRefused("a request needs a title")

    def opening(book: Book) -> Change:
        head_sha, base_sha = _tip(book, head), _tip(book, base)
        for other in book.requests.values():
            if (other.state, other.head, other.base) == (RequestState.OPEN, head, base):
                raise RequestExists(f"request #{other.number} is open for {head} into {base}")
        if is_ancestor(mirror.git_dir, head_sha, base_sha):
            raise ForgeRefused(f"{head} has no commits that {base} lacks")
        number = max(book.requests, default=0) + 1
        request = PullRequest(
            number, RequestState.OPEN, text(title.strip()), text(body), head, head_sha, base,
            base_sha, None, int(time.time()), book.url(number),
        )  # fmt: skip
        unmoved = Move(HEADS + head, head_sha, head_sha), Move(HEADS + base, base_sha, base_sha)
        return Change(request, f"open #{number}", unmoved)

    return change(mirror, opening)


def list_requests(
    mirror: Mirror, *, head: str | None = None, state: str = "all"
) -> list[PullRequest]:
    """The requests, newest first; of one head branch, or of one state, where asked for."""
    wanted = None if state == "all" else RequestState(state)
    found = [
        request for request in read(mirror).requests.values()
        if head in (None, request.head) and wanted in (None, request.state)
    ]  # fmt: skip
    return sorted(found, key=lambda request: request.number, reverse=True)


def show(mirror: Mirror, number: int) -> PullRequest:
    """One request; NotFound when there is none of this number."""
    return look(read(mirror), number)


def close(mirror: Mirror, number: int) -> PullRequest:
    """Close an open request without merging it; any other is WrongState."""

    def closing(book: Book) -> Change:
        request = look(book, number)
        if request.state is not RequestState.OPEN:
            raise WrongState(f"request #{number} is already {request.state}")
        return Change(replace(request, state=RequestState.CLOSED), f"close #{number}")

    return change(mirror, closing)


def merge(mirror: Mirror, number: int, head_sha: str | None = None) -> PullRequest:
    """Merge an open request into its base: fast-forward if possible, else a clean merge commit.

    MergeRefused when it is not open, conflicts, or its head is no longer `head_sha` (where given).
    Base and request change together or not at all.
    """

    def merging(book: Book) -> Change:
        request = look(book, number)
        if request.state is not RequestState.OPEN:
            raise MergeRefused(f"request #{number} is already {request.state}")
        if head_sha not in (None, request.head_sha):
            raise MergeRefused(f"the head of request #{number} moved to {request.head_sha}")
        base_sha = _tip(book, request.base)
        merged = _merged(mirror, request, base_sha)
        moves = (
            Move(HEADS + request.head, request.head_sha, request.head_sha),
            Move(HEADS + request.base, base_sha, merged),
        )
        done = replace(request, state=RequestState.MERGED, merged_sha=merged, base_sha=base_sha)
        return Change(done, f"merge #{number}", moves)

    return change(mirror, merging)


def diff(mirror: Mirror, number: int) -> bytes:
    """What the request changes, as a binary patch against where its head left the base."""
    request = show(mirror, number)
    fork = git("merge-base", request.base_sha, request.head_sha, git_dir=mirror.git_dir)
    patch = attempt(
        "diff-tree", "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff",
        "--no-textconv", "--find-renames", fork, request.head_sha, git_dir=mirror.git_dir,
    )  # fmt: skip
    return patch.out


def _tip(book: Book, branch: str) -> str:
    sha = book.tips.get(HEADS + branch)
    if sha is None:
        raise ForgeRefused(f"the forge has no branch {branch!r}")
    return sha


def _merged(mirror: Mirror, request: PullRequest, base_sha: str) -> str:
    """The commit that the base moves to; the base itself when it already holds the head."""
    if is_ancestor(mirror.git_dir, base_sha, request.head_sha):
        return request.head_sha
    if is_ancestor(mirror.git_dir, request.head_sha, base_sha):
        return base_sha
    tree = attempt(
        "merge-tree", "--write-tree", "--no-messages", base_sha, request.head_sha,
        git_dir=mirror.git_dir,
    )  # fmt: skip
    if tree.code != 0:
        raise MergeRefused(
            f"request #{request.number} does not merge cleanly into {request.base}",
            hint="merge the base into the head branch, or close the request",
        )
    why = f"Merge request #{request.number}: {' '.join(request.title.split())}\n"
    return git(
        "commit-tree", tree.text, "-p", base_sha, "-p", request.head_sha,
        git_dir=mirror.git_dir, stdin=why.encode(), extra=IDENTITY,
    )  # fmt: skip
