"""Whatever an agent does to its checkout, what is permitted lies within what was approved."""

from __future__ import annotations

import shutil

import pytest
from fixtures import hostile
from fixtures.hostile import Act, drop, link, listed, move, nest, special, write
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.domain.errors import FencepostError, UnsafeName
from app.domain.scope import check_patterns
from app.repository.address import is_url, plain, safe_url
from app.repository.source import inspect
from workers.workspace.checkout import open_checkout
from workers.workspace.scope import check_scope

#: Examples are the same in every run; `--long` adds many that nobody has seen before.
_USUAL = settings(
    deadline=None, derandomize=True, max_examples=150, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
_LONG = settings(_USUAL, derandomize=False, max_examples=2_000, print_blob=True)

_EVIL = """
[core]
    fsmonitor = "touch '{proof}'"
    hooksPath = {hooks}
    sshCommand = "touch '{proof}'"
[filter "evil"]
    clean = "touch '{proof}'; cat"
    smudge = "touch '{proof}'; cat"
    required = true
[merge "evil"]
    driver = "touch '{proof}'"
[diff "evil"]
    command = "touch '{proof}'"
"""


@pytest.fixture
def secretive(upstream, files):
    """A base that has a place where nothing may be changed within one where something may."""
    return upstream.commit(files | {b"src/secret/key": ("100644", b"k\n")})


@pytest.fixture
def judge(tmp_path, upstream, secretive, author):
    """Let an agent work, and judge what is permitted; True when it was."""
    proof, hooks, around = tmp_path / "proof", tmp_path / "hooks", tmp_path / "checkouts"
    hooks.mkdir()
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{proof}'\n")
        (hooks / name).chmod(0o755)
    refs = upstream.git("for-each-ref")

    def judged(work):
        workshop = tmp_path / "workshop"
        with open_checkout(
            around, "a1-author-1", upstream.remote, secretive, upstream.objects
        ) as checkout:
            with (checkout.tree / ".git" / "config").open("a") as config:
                config.write(_EVIL.format(proof=proof, hooks=hooks))
            for act in work:
                act.on(checkout.tree)
            tree = checkout.snapshot()
            refused = [
                *checkout.unfit,
                *check_scope(
                    checkout.git_dir, secretive, tree, check_patterns(hostile.PATTERNS)
                ),
            ]  # fmt: skip
            if not refused:
                head = checkout.commit(tree, secretive, "work", author)
                workshop.mkdir()
                try:
                    assert not hostile.complaints(checkout.git_dir, secretive, head, workshop)
                finally:
                    shutil.rmtree(workshop)
        assert not proof.exists(), "something of the repository was run"
        assert list(around.iterdir()) == []
        assert upstream.git("for-each-ref") == refs
        return not refused

    return judged


@pytest.mark.contract("E03", "E04", "S03")
@_USUAL
@given(work=hostile.WORK)
@example(work=[Act(link, (b"src/b", b"../docs/guide.md"))])
@example(work=[Act(link, (b"src/deep", b"secret"))])
@example(work=[Act(move, (b"src/secret", b"src/b"))])
@example(work=[Act(drop, (b"src",)), Act(link, (b"src", b"docs"))])
@example(work=[Act(nest, (b"src/deep",)), Act(write, (b"src/deep/x", b"", 0o644))])
@example(work=[Act(write, (b"src/A.PY", b"", 0o644))])
@example(work=[Act(special, (b".gitignore",)), Act(special, (b"src/.gitattributes",))])
@example(work=[Act(nest, (b"src/b",)), Act(special, (b"src/b/.git/HEAD",))])
@example(work=[Act(nest, (b"src/b",)), Act(special, (b"src/b/.git/commondir",))])
@example(work=[Act(drop, (b".git",)), Act(write, (b"src/a.py", b"new", 0o755))])
def test_no_escape(judge, work):
    """Paths, modes, links, nested repositories and names: permitted is only what is within."""
    judge(work)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.contract("E03", "E04", "S03")
@_LONG
@given(work=hostile.WORK)
def test_no_escape_that_nobody_has_thought_of(judge, work):
    """The same, with other examples in every run."""
    judge(work)


@pytest.mark.contract("E03")
@settings(_USUAL, max_examples=25)
@given(files=hostile.GOOD_WORK)
def test_good_work_is_permitted_as_it_is(upstream, tmp_path, secretive, author, files):
    """Ordinary files within the approved paths are taken, byte for byte, and nothing else is."""
    with open_checkout(
        tmp_path / "c", "a1-author-1", upstream.remote, secretive, upstream.objects
    ) as checkout:
        for path, content in files.items():
            write(bytes(checkout.tree), path.encode(), content, 0o644)
        tree = checkout.snapshot()
        found = check_scope(checkout.git_dir, secretive, tree, check_patterns(["src"]))

        assert [*checkout.unfit, *found] == []
        before, after = (listed(checkout.git_dir, name) for name in (secretive, tree))
        taken = {
            path: hostile.content(checkout.git_dir, name)
            for path, (_, name) in after.items()
            if path not in before
        }
        assert taken == {path.encode(): content for path, content in files.items()}
        assert {path: after[path] for path in before} == before


_WORDS = st.sampled_from(
    ("main", "-", "--", "--upload-pack=touch proof", "-c", "HEAD", "@{-1}", "..", ":", "::", "ext",
     "ext::sh -c touch% proof", "file", "https", "ssh", "git", "fd", "http", "//", "/", "@", "user",
     "secret", "example.invalid", "[::1]", "127.0.0.1", "\n", "\0", "\x1b", "%00", "%2f", " ", "~",
     "^", "refs/heads/", "é", "e\u0301", "\ud800", "?", "#", "-oProxyCommand=touch proof", "$(x)",
     "`x`", ".git", "=", "\\")
)  # fmt: skip
_HOSTILE_TEXT = st.lists(_WORDS, max_size=6).map("".join)
_ADDRESSES = st.one_of(
    _HOSTILE_TEXT,
    st.builds("{}://{}{}".format, st.sampled_from(("https", "ssh", "ext", "file", "git")),
              _HOSTILE_TEXT, _HOSTILE_TEXT),
)  # fmt: skip


@pytest.mark.contract("S03")
@settings(_USUAL, max_examples=1_500)
@given(address=_ADDRESSES)
@example(address="https://user:secret@example.invalid/x")
@example(address="https://user@example.invalid/x")
@example(address="ext::sh -c touch% proof")
@example(address="ssh://-oProxyCommand=touch/x")
@example(address="-oProxyCommand=touch:x")
@example(address="https:secret@example.invalid")
def test_no_address_carries_a_command_or_a_credential(address):
    """What passes names a transport of the list, no user but ssh's, and no option anywhere."""
    refusal = None
    try:
        plain("repository", address)
        if not is_url(address):
            return  # a path, handed to git as a folder and never as a word of its command
        taken = safe_url(address)
    except UnsafeName as fault:
        refusal = fault
    if refusal is not None:
        assert refusal.advice
        return
    scheme, separator, rest = taken.partition("://")
    if not separator:
        scheme, rest = "ssh", taken.replace(":", "/", 1)
    authority = rest.split("/")[0].split("?")[0].split("#")[0]
    login, at, host = authority.rpartition("@")
    assert scheme in ("file", "http", "https", "ssh", "git")
    assert not any(word.startswith("-") for word in (taken, host, login))
    assert ":" not in login
    assert not at or scheme == "ssh"
    assert taken.isprintable() or not taken.isascii()


@pytest.mark.contract("S03")
@settings(_USUAL, max_examples=150)
@given(base=_HOSTILE_TEXT)
@example(base="--upload-pack=touch proof")
@example(base="main:README.md")
@example(base="@{-1}")
def test_no_base_is_an_option(upstream, secretive, tmp_path, base):
    """A base is a branch or a commit of the repository, or it is refused with what to do."""
    upstream.point("refs/heads/main", secretive)
    try:
        said = inspect(str(upstream.path), base).sha
    except FencepostError as refusal:
        said = refusal.advice
    assert said
    assert said == secretive or " " in said, "neither the commit nor what to do"
    assert not (tmp_path / "proof").exists()
    assert not list(tmp_path.rglob("*proof*"))
