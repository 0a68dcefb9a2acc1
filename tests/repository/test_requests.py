"""The local forge's numbered pull requests and the ledger that holds them."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import pytest

from app.domain.digest import parse
from app.domain.errors import (
    ForgeRefused,
    MergeRefused,
    NotFound,
    PushLost,
    RequestExists,
    WrongState,
)
from app.domain.pull_request import RequestState
from app.repository import book, ledger
from app.repository.git import git
from app.repository.refs import Move, move, tips
from app.repository.requests import close, diff, list_requests, merge, open_request, show

_SPAWN = multiprocessing.get_context("spawn")
BASE = {"a.txt": "one\ntwo\nthree\n"}


@pytest.fixture
def base(branches):
    """The first commit of main."""
    return branches.write("main", BASE)


@pytest.fixture
def work(branches, base):
    """A branch with one commit on main."""
    return branches.write("work", {**BASE, "b.txt": "b\n"}, base)


def test_request_shows_what_was_opened(mirror, work, base):
    """Number, branches, commits and words come back exactly."""
    opened = open_request(mirror, "Add b", "Because.\n\n— é\n", "work", "main")

    assert opened == show(mirror, 1) == list_requests(mirror)[0]
    assert (opened.number, opened.state) == (1, RequestState.OPEN)
    assert (opened.head, opened.head_sha) == ("work", work)
    assert (opened.base, opened.base_sha) == ("main", base)
    assert (opened.title, opened.body, opened.merged_sha) == ("Add b", "Because.\n\n— é\n", None)
    assert opened.url == f"{mirror.git_dir}#1"
    assert tips(mirror.git_dir, "refs/pull/") == {"refs/pull/1/head": work}


def test_second_open_request_for_the_same_branches_is_refused(mirror, work):
    """Like at GitHub: one open request for a head and a base; a closed one does not count."""
    open_request(mirror, "Add b", "", "work", "main")

    with pytest.raises(RequestExists):
        open_request(mirror, "Add b again", "", "work", "main")

    close(mirror, 1)
    assert open_request(mirror, "Add b again", "", "work", "main").number == 2


@pytest.mark.parametrize(
    ("title", "head", "into"),
    [
        ("Missing head", "nowhere", "main"),
        ("Missing base", "work", "nowhere"),
        ("Nothing new", "main", "main"),
        ("Behind", "main", "work"),
        (" \n", "work", "main"),
        ("A full ref", "refs/heads/work", "main"),
        ("Option", "--help", "main"),
        ("Line", "work\nupdate refs/heads/main", "main"),
        ("Zero", "work\0", "main"),
        ("Up", "../heads/work", "main"),
        ("Glob", "w*", "main"),
    ],
)
def test_request_that_makes_no_sense_is_refused_and_leaves_nothing(mirror, work, title, head, into):
    """No number is used, and no ref is made, for branches that are missing or hold nothing new."""
    before = tips(mirror.git_dir)

    with pytest.raises(ForgeRefused):
        open_request(mirror, title, "", head, into)

    assert tips(mirror.git_dir) == before


def test_text_of_a_request_is_kept_fit_for_canonical_bytes(mirror, work):
    """Whatever a title or body is made of, the ledger can hold it and it can be read back."""
    opened = open_request(mirror, "bad \udcff e\u0301\n--x", "\0\x1b[31m \r\n", "work", "main")

    assert (opened.title, opened.body) == ("bad \ufffd \u00e9\n--x", "\0\x1b[31m \r\n")
    assert show(mirror, 1) == opened


def test_open_request_follows_its_branches_and_a_closed_one_does_not(mirror, branches, base, work):
    """`head_sha` is the branch's commit while the request is open, and frozen after it."""
    open_request(mirror, "Add b", "", "work", "main")
    newer = branches.write("work", {**BASE, "b.txt": "better\n"}, work)

    assert show(mirror, 1).head_sha == newer

    close(mirror, 1)
    branches.write("work", BASE, newer)
    assert show(mirror, 1).head_sha == newer
    assert tips(mirror.git_dir, "refs/pull/") == {"refs/pull/1/head": newer}


def test_open_request_whose_branch_was_deleted_counts_as_closed(mirror, branches, work):
    """Like at GitHub, deleting the head branch closes the request, with the last commit known."""
    open_request(mirror, "Add b", "", "work", "main")
    branches.delete("work")

    assert (show(mirror, 1).state, show(mirror, 1).head_sha) == (RequestState.CLOSED, work)
    with pytest.raises(MergeRefused):
        merge(mirror, 1)


def test_listing_is_newest_first_and_filters_by_head_and_state(mirror, branches, base, work):
    """One head's requests of any state are what a look before a create needs."""
    branches.write("other", {**BASE, "c.txt": "c\n"}, base)
    open_request(mirror, "One", "", "work", "main")
    close(mirror, 1)
    open_request(mirror, "Two", "", "other", "main")
    open_request(mirror, "Three", "", "work", "main")

    def numbers(**wanted):
        return [request.number for request in list_requests(mirror, **wanted)]

    assert numbers() == [3, 2, 1]
    assert numbers(head="work") == [3, 1]
    assert numbers(state="open") == [3, 2]
    assert numbers(head="work", state="closed") == [1]


def test_merge_fast_forwards_where_it_can(mirror, branches, work):
    """The base moves to the head itself, and the request says so."""
    open_request(mirror, "Add b", "", "work", "main")

    merged = merge(mirror, 1, head_sha=work)

    assert (merged.state, merged.merged_sha, branches.tip("main")) == (
        RequestState.MERGED, work, work,
    )  # fmt: skip
    assert show(mirror, 1) == merged


def test_merge_joins_two_histories_that_do_not_conflict(mirror, branches, base, work):
    """A base that went on gets a merge commit with both parents and both changes."""
    open_request(mirror, "Add b", "", "work", "main")
    onward = branches.write("main", {**BASE, "c.txt": "c\n"}, base)

    merged = merge(mirror, 1).merged_sha

    assert branches.tip("main") == merged
    parents = git("show", "--no-patch", "--format=%P", merged, git_dir=mirror.git_dir)
    assert parents == f"{onward} {work}"
    names = git("ls-tree", "--name-only", merged, git_dir=mirror.git_dir)
    assert names.split() == ["a.txt", "b.txt", "c.txt"]


def test_merge_that_conflicts_is_refused_and_changes_nothing(mirror, branches, base):
    """Both sides changed one line: a person decides."""
    branches.write("work", {"a.txt": "mine\n"}, base)
    open_request(mirror, "Mine", "", "work", "main")
    branches.write("main", {"a.txt": "theirs\n"}, base)
    before = tips(mirror.git_dir)

    with pytest.raises(MergeRefused):
        merge(mirror, 1)

    assert tips(mirror.git_dir) == before
    assert show(mirror, 1).state is RequestState.OPEN


def test_merge_of_another_head_than_was_looked_at_is_refused(mirror, branches, work):
    """Who names the commit that was reviewed merges that one or none."""
    open_request(mirror, "Add b", "", "work", "main")
    branches.write("work", {**BASE, "b.txt": "changed\n"}, work)

    with pytest.raises(MergeRefused, match="moved"):
        merge(mirror, 1, head_sha=work)


@pytest.mark.parametrize("end", [close, merge])
def test_ended_request_is_neither_merged_nor_closed_again(mirror, work, end):
    """An end is final."""
    open_request(mirror, "Add b", "", "work", "main")
    end(mirror, 1)

    with pytest.raises(MergeRefused):
        merge(mirror, 1)
    with pytest.raises(WrongState):
        close(mirror, 1)


def test_number_that_was_never_given_is_not_found(mirror, work):
    """In a ledger with requests and in one without."""
    for verb in (show, close, merge, diff):
        with pytest.raises(NotFound):
            verb(mirror, 1)


def test_diff_is_what_the_head_changed_since_it_left_the_base(mirror, branches, base):
    """The patch is binary-safe and stays the same after base went on and after the merge."""
    head = branches.write("work", {"a.txt": "one\ntwo\nthree\n", "n\u00e9w": "x\0y"}, base)
    open_request(mirror, "Add a file", "", "work", "main")
    first = diff(mirror, 1)
    branches.write("main", {**BASE, "c.txt": "c\n"}, base)

    assert b"GIT binary patch" in first
    assert diff(mirror, 1) == first
    merge(mirror, 1)
    assert diff(mirror, 1) == first
    git("read-tree", base, git_dir=mirror.git_dir)
    git("apply", "--cached", "-", git_dir=mirror.git_dir, stdin=first)
    applied = git("write-tree", git_dir=mirror.git_dir)
    assert applied == git("rev-parse", f"{head}^{{tree}}", git_dir=mirror.git_dir)


def test_ledger_is_append_only_and_canonical(mirror, work):
    """Every change is one commit on the one before it; each document is canonical JSON."""
    open_request(mirror, "Add b", "", "work", "main")
    close(mirror, 1)
    open_request(mirror, "Add b", "", "work", "main")
    merge(mirror, 2)

    history = git("log", "--format=%s", ledger.REF, git_dir=mirror.git_dir).split("\n")
    assert history == ["merge #2", "open #2", "close #1", "open #1"]
    written = ledger.read(mirror.git_dir, tips(mirror.git_dir, ledger.REF)[ledger.REF])
    assert [parse(document)["number"] for document in written.documents.values()] == [1, 2]


def test_change_that_lost_the_race_is_decided_anew(mirror, branches, base, work):
    """A rival's request between reading and moving costs a second try, not a doubled number."""
    branches.write("rival", {**BASE, "c.txt": "c\n"}, base)
    seen = []

    def deciding(seen_book):
        seen.append(len(seen_book.requests))
        if len(seen) == 1:
            open_request(mirror, "Rival", "", "rival", "main")
        number = max(seen_book.requests, default=0) + 1
        template = show(mirror, 1)
        return book.Change(replace(template, number=number, head="work", head_sha=work), "open")

    assert book.change(mirror, deciding).number == 2
    assert seen == [0, 1]


def test_changes_that_always_lose_the_race_end_in_an_error(mirror, branches, work, monkeypatch):
    """The retry is bounded."""
    monkeypatch.setattr(book, "_TRIES", 3)
    request = open_request(mirror, "Add b", "", "work", "main")
    wrong = Move("refs/heads/work", "1" * 40, "1" * 40)

    with pytest.raises(PushLost):
        book.change(mirror, lambda _: book.Change(request, "never", (wrong,)))

    assert show(mirror, 1) == request


def test_refs_move_together_or_not_at_all(mirror, branches, base, work):
    """One stale expectation keeps every ref where it is, and says which."""
    before = tips(mirror.git_dir)

    with pytest.raises(PushLost, match="refs/heads/work"):
        move(
            mirror.git_dir,
            [Move("refs/heads/main", base, work), Move("refs/heads/work", base, base)],
        )
    with pytest.raises(PushLost, match="refs/heads/main"):
        move(mirror.git_dir, [Move("refs/heads/main", None, work)])

    assert tips(mirror.git_dir) == before


def test_merge_whose_machine_stopped_between_base_and_ledger_can_be_repeated(
    mirror, branches, work
):
    """The base moves first; a merge that finds it moved only completes the record."""
    open_request(mirror, "Add b", "", "work", "main")
    git("update-ref", "refs/heads/main", work, git_dir=mirror.git_dir)

    merged = merge(mirror, 1)

    assert (merged.state, merged.merged_sha, branches.tip("main")) == (
        RequestState.MERGED, work, work,
    )  # fmt: skip


def test_requests_and_source_refs_stay_out_of_an_ordinary_clone(mirror, work, tmp_path):
    """Who clones the mirror gets branches, nothing of the forge's own."""
    open_request(mirror, "Add b", "", "work", "main")

    git("clone", "--quiet", "--bare", mirror.git_dir.as_uri(), str(tmp_path / "clone"))

    assert set(tips(tmp_path / "clone")) == {"refs/heads/main", "refs/heads/work"}


def test_processes_that_open_at_once_get_different_numbers(mirror, branches, base):
    """Real processes, one ledger: eight requests, eight numbers, one history."""
    for worker in range(4):
        for turn in range(2):
            branches.write(f"work-{worker}-{turn}", {**BASE, f"{worker}{turn}": "x\n"}, base)

    numbers = _at_once(
        mirror, [[f"work-{worker}-{turn}" for turn in range(2)] for worker in range(4)]
    )

    assert sorted(numbers) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [request.number for request in list_requests(mirror)] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert git("rev-list", "--count", "--first-parent", ledger.REF, git_dir=mirror.git_dir) == "8"


def test_processes_that_open_the_same_request_at_once_make_one(mirror, work):
    """Four processes want the same head and base: one request, three refusals."""
    numbers = _at_once(mirror, [["work"]] * 4)

    assert sorted(numbers) == [0, 0, 0, 1]
    assert len(list_requests(mirror)) == 1


def _at_once(mirror, heads: list[list[str]]) -> list[int]:
    barrier, answers = _SPAWN.Barrier(len(heads)), _SPAWN.Queue()
    processes = [
        _SPAWN.Process(target=_open_each, args=(barrier, answers, mirror, wanted))
        for wanted in heads
    ]
    for process in processes:
        process.start()
    numbers = [answers.get(timeout=60) for wanted in heads for _ in wanted]
    for process in processes:
        process.join(60)
    return numbers


def _open_each(barrier, answers, mirror, heads: list[str]) -> None:
    barrier.wait(30)
    for head in heads:
        try:
            answers.put(open_request(mirror, "Work", "", head, "main").number)
        except RequestExists:
            answers.put(0)
