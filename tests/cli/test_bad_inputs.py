"""Repositories, files, folders and ids that nobody should have to think of, at the command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.command import Fencepost, Said
from fixtures.stack import a_repository
from fixtures.waiting import until

from app.domain.identity import WorldId
from app.domain.work_order import Specification
from app.embedded import servers
from app.repository.git import git
from app.store.engine import Store, open_store
from app.transitions.add_repository import add_repository
from app.transitions.change import LOCAL
from app.transitions.draft import draft
from app.transitions.open_world import open_world

AUTHOR = ("-c", "user.name=T", "-c", "user.email=t@example.org")
POINTER = """\
version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
"""
ODD = ("-x", "--output=y", "two\nlines.txt", 'quo"te\\t', "é ü")


def committed(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *AUTHOR, *words], check=True, capture_output=True)


def frictions(said: Said) -> list[str]:
    assert said.code == 1, said.err
    return [friction["code"] for friction in said.lines[-1]["frictions"]]


def candidate(up: Fencepost, said: Said) -> tuple[Path, str]:
    """The mirror of a run that ended with a request, and its head."""
    assert said.code == 0, said.err
    request = said.lines[-1]["pull_request"]
    return Path(request["url"].partition("#")[0]), request["head_sha"]


def number(said: Said) -> str:
    """What `pull-requests show` knows the request of a run by."""
    return str(said.lines[-1]["next"][0].split()[-1])


@pytest.fixture
def linked(repository: Path) -> Path:
    """A repository with a submodule, not fetched."""
    inner = a_repository(repository.parent / "inner", {"b.py": "z = 1\n"})
    git_file = ("-c", "protocol.file.allow=always")
    committed(repository, *git_file, "submodule", "--quiet", "add", str(inner), "lib")
    committed(repository, "commit", "-q", "-m", "Link")
    return repository


def test_a_submodule_stays_a_link(up: Fencepost, linked: Path) -> None:
    """Nothing is fetched for it, its folder is empty, and the candidate links what the base did."""
    change = 'test -z "$(ls -A lib)" && echo y >> src/a.py'

    mirror, head = candidate(up, up("run", "--json", "--", "sh", "-c", change, at=linked))

    before = git("ls-tree", "HEAD", "lib", directory=linked)
    assert before.startswith("160000 ")
    assert git("ls-tree", head, "lib", git_dir=mirror) == before


@pytest.mark.contract("E03")
@pytest.mark.parametrize(
    "change",
    [
        "rmdir lib",
        "rmdir lib && echo y > lib",
        "cd lib && git init -q && {commit}",
        "mkdir new && cd new && git init -q && {commit}",
    ],
)
def test_a_changed_submodule_is_refused(up: Fencepost, linked: Path, change: str) -> None:
    """A link that is removed, replaced, moved or added is outside of what may be approved."""
    script = linked.parent / "script"
    script.write_text(change.format(commit=f"git {' '.join(AUTHOR)} commit -q --allow-empty -m x"))

    said = up("run", "--json", "--", "sh", str(script), at=linked)

    assert "submodule_link" in frictions(said)


def test_an_lfs_pointer_stays_a_pointer(up: Fencepost, repository: Path) -> None:
    """The command sees the pointer, the candidate keeps it, and no filter of anybody runs."""
    ran = repository.parent / "ran"
    (repository / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (repository / "big.bin").write_text(POINTER)
    committed(repository, "add", ".")
    committed(repository, "commit", "-q", "-m", "Large")
    for side in ("clean", "smudge", "process"):
        committed(repository, "config", f"filter.lfs.{side}", f"touch {ran}; cat")
    committed(repository, "config", "filter.lfs.required", "true")

    said = up("run", "--json", "--", "cp", "big.bin", "copy.bin", at=repository)

    mirror, head = candidate(up, said)
    for name in ("big.bin", "copy.bin"):
        assert git("show", f"{head}:{name}", git_dir=mirror) + "\n" == POINTER
    assert not ran.exists()


def test_hooks_of_the_source_never_run(up: Fencepost, repository: Path) -> None:
    """Hooks that would fail stop neither the run nor the merge."""
    ran = repository.parent / "ran"
    names = (
        "pre-commit", "commit-msg", "post-checkout", "pre-push", "pre-receive", "update",
        "reference-transaction", "post-merge", "post-index-change",
    )  # fmt: skip
    for name in names:
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
        hook.chmod(0o755)

    said = up("run", "--json", "--", "sh", "-c", "echo y >> src/a.py", at=repository)
    merged = up("pull-requests", "merge", number(said))

    assert (said.code, merged.code) == (0, 0), (said.err, merged.err)
    assert not ran.exists()


def test_a_branch_wins_over_a_tag_of_its_name(up: Fencepost, repository: Path) -> None:
    """`--base main` is the branch; the tag of that name is an older commit."""
    committed(repository, "tag", "main")
    committed(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    newest = git("rev-parse", "refs/heads/main", directory=repository)

    said = up("run", "--json", "--base", "main", "--", "sh", "-c", "echo y >> src/a.py",
              at=repository)  # fmt: skip

    mirror, head = candidate(up, said)
    assert git("rev-parse", f"{head}^", git_dir=mirror) == newest


@pytest.mark.contract("S03")
def test_odd_names_are_in_the_request(up: Fencepost, repository: Path) -> None:
    """Names with line ends and names like options reach the candidate, and are shown harmlessly."""
    script = repository.parent / "script"
    script.write_text("for name in " + " ".join(f"'{name}'" for name in ODD)
                      + '; do echo "$name" > "./$name"; done\n')  # fmt: skip

    said = up("run", "--json", "--", "sh", str(script), at=repository)

    mirror, head = candidate(up, said)
    listed = git("diff", "--name-only", "-z", f"{head}^", head, git_dir=mirror)
    assert sorted(listed.rstrip("\0").split("\0")) == sorted(ODD)
    shown = up("pull-requests", "show", number(said))
    patch = up("pull-requests", "show", number(said), "--diff")
    assert (shown.code, patch.code) == (0, 0), shown.err + patch.err
    assert "two\nlines" not in shown.out
    assert "+two\n+lines.txt" in patch.out


def many_steps() -> str:
    """A workflow of ten thousand steps, in one line each."""
    steps = "".join(f"  - {{name: s{n}, kind: gate}}\n" for n in range(10_000))
    return f"command: 'true'\nworkflow:\n  steps:\n{steps}"


@pytest.mark.contract("O02")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (many_steps(), ":1:1: more than 256 KiB (too_large)"),
        ("command: a\nworkflow:\n  steps:\n  - {name: b, kind: gate, when: __import__('os')}\n",
         ":4:5: step b: "),
        ("command: a\nworkflow:\n  steps:\n  - {name: b, kind: gate, when: steps.c.state == 'x'}\n",
         ":4:5: step b: c does not run before it (bad_condition)"),
        ("command: a\nworkflow: {steps: [{name: b, kind: gate, shell: ls}]}\n",
         ":2:42: "),
    ],
    ids=["ten thousand steps", "code", "a step that is not there", "unknown field"],
)  # fmt: skip
def test_a_workflow_that_cannot_be_meant_is_refused(
    up: Fencepost, repository: Path, text: str, fault: str
) -> None:
    """It is refused with its place before anything is written down."""
    before = up("work-orders", "list", "--json").value
    file = repository / "order.yaml"
    file.write_text(text)

    said = up("work-orders", "create", str(file), at=repository)

    assert (said.code, said.out) == (2, "")
    assert f"{file}{fault}" in said.err
    assert said.err.splitlines()[0] == "error: this is no work order (unfit_work_order):"
    ids = [[one["id"] for one in orders]
           for orders in (before, up("work-orders", "list", "--json").value)]  # fmt: skip
    assert ids[0] == ids[1]


@pytest.fixture
def waiting(up: Fencepost, repository: Path) -> tuple[str, str]:
    """An approved work order and its task, in the inbox."""
    file = repository.parent / "order.yaml"
    file.write_text(f"repository: {repository}\ncommand: 'true'\ntitle: Nothing\n")
    order = up("work-orders", "create", str(file), "--json").value
    for verb in ("submit", "approve"):
        assert up("work-orders", verb, order["id"]).code == 0
    return order["id"], order["tasks"][0]["id"]


@pytest.mark.contract("T06")
def test_a_key_is_for_one_request(up: Fencepost, waiting: tuple[str, str]) -> None:
    """The same key and another body, or another verb, is refused and changes nothing."""
    _, task = waiting
    key = f"key of {task}"
    words = ("--reason", "it may run", "--key", key)
    assert up("tasks", "move", task, "ready", *words).code == 0

    refusals = [
        up("tasks", "move", task, "inbox", *words),
        up("tasks", "dispatch", task, "--key", key),
        up("tasks", "add-child", task, "--key", key),
    ]

    for said in refusals:
        assert (said.code, said.out) == (2, "")
        assert "(idempotency_conflict)\n  ask again exactly as before, or give" in said.err
    seen = up("tasks", "show", task, "--json").value
    assert (seen["column"], seen["attempts"], seen["children"]) == ("ready", [], [])


@pytest.mark.contract("T02")
def test_an_id_of_another_world_is_refused(up: Fencepost, waiting: tuple[str, str]) -> None:
    """Neither a work order of another world nor a token bound to one reaches a task of this."""
    order, task = waiting
    addresses = servers.running(up.home)
    assert addresses
    name = f"other.{task}"
    with closing(open_store(addresses.app_url, name="test-other-world")) as store:
        other = open_world(store, name)
        elsewhere = drafted(store, other)
    made = up("tokens", "create", name, "--scope", "operator", "--world", name)
    assert made.code == 0, made.err

    by_order = up("tasks", "dispatch", task, "--work-order", elsewhere)
    by_token = [
        up(*words, FENCEPOST_TOKEN=made.out.strip())
        for words in (("tasks", "dispatch", task), ("tasks", "show", task),
                      ("work-orders", "dispatch", order))
    ]  # fmt: skip

    assert (by_order.code, "(task_of_another_work_order)" in by_order.err) == (2, True), by_order
    for said in by_token:
        assert (said.code, said.out, "(world_forbidden)" in said.err) == (2, "", True), said.err
    assert up("tasks", "show", task, "--json").value["attempts"] == []


def drafted(store: Store, world: WorldId) -> str:
    """A work order of a world, written down."""
    known = add_repository(store, world, LOCAL, "elsewhere", "https://example.invalid/elsewhere")
    limit = timedelta(minutes=1)
    work = Specification("Change it", "main", (), ("true",), (), limit, limit)
    return draft(store, world, LOCAL, known.id, work).work_order


@pytest.mark.parametrize("home", ["/proc", "/proc/nowhere", "file", "file/inside"])
@pytest.mark.parametrize("words", [("run", "--", "true"), ("up",), ("up", "--detach")])
def test_a_home_that_cannot_be_written_is_refused(
    repository: Path, tmp_path: Path, home: str, words: tuple[str, ...]
) -> None:
    """Nobody can write there, root neither; it is said before anything is begun."""
    (tmp_path / "file").write_text("")

    said = Fencepost(tmp_path / home)(*words, at=repository)  # an absolute path stays itself

    assert (said.code, said.out) == (2, "")
    assert "(home_unusable)\n  set FENCEPOST_HOME to a folder that is yours" in said.err


def test_of_two_ups_at_once_one_stays(own: Fencepost, after: Callable[..., list[str]]) -> None:
    """Two that start in one folder at the same moment do not both become its stack."""
    both = [own.begin("up"), own.begin("up")]
    until(lambda: any(one.poll() is not None for one in both), 30)
    refused, stays = sorted(both, key=lambda one: one.poll() is None)

    said = refused.communicate()[1]
    assert (refused.returncode, "(wrong_state)" in said) == (2, True), said
    after(stays, "up: dispatcher and a worker")
    assert own("status", "--json").value["up"] == stays.pid
    stays.terminate()
    stays.communicate()


@pytest.fixture
def full_disk(up: Fencepost) -> Iterator[Callable[[], None]]:
    """Leaves no room for checkouts; calling it gives the room back.

    Where nothing may be mounted there is no folder to make a checkout in at all.
    """
    folder = up.home / "checkouts"
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    is_mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    if not is_mounted:
        folder.rmdir()
        folder.write_text("")

    def release() -> None:
        if is_mounted and os.path.ismount(folder):
            until(lambda: subprocess.run(["umount", str(folder)], check=False).returncode == 0)
        elif folder.is_file():
            folder.unlink()

    yield release
    release()


@pytest.mark.contract("E01")
def test_a_full_disk_hands_the_work_back(
    up: Fencepost, repository: Path, full_disk: Callable[[], None]
) -> None:
    """Nothing is begun, or handed back as this host's failure; with room the work is done once."""
    (repository / "big.bin").write_bytes(os.urandom(4 << 20))
    committed(repository, "add", ".")
    committed(repository, "commit", "-q", "-m", "Large")
    said = up("run", "--detach", "--json", "--", "sh", "-c", "echo y >> src/a.py", at=repository)
    attempt = said.lines[-1]["attempt"]

    log = up.home / "logs" / "worker.log"
    until(lambda: "worker.no_room" in log.read_text()
                  or "host_failed: " in up("explain", attempt).out, 30)  # fmt: skip
    assert up("attempts", "show", attempt, "--json").value["outcome"] == "active"

    full_disk()
    until(lambda: up("attempts", "show", attempt, "--json").value["outcome"] != "active", 60)
    assert up("attempts", "show", attempt, "--json").value["outcome"] == "done"
    assert up("explain", attempt).out.count("may start one process") == 1
