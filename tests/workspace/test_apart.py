"""Checkouts are apart from each other, and from what a run plants in their git folders."""

from __future__ import annotations

import subprocess

import pytest

from app.repository.git import attempt, git
from app.repository.push import Move, push
from workers.workspace.cache import Cache
from workers.workspace.checkout import open_checkout
from workers.workspace.repository import fetch_commit
from workers.workspace.scope import check_scope

EVIL = """
[core]
	fsmonitor = "touch '{proof}'; false"
	hooksPath = {hooks}
	sshCommand = "touch '{proof}'; false"
	gitProxy = "touch '{proof}'"
	askPass = {hooks}/pre-push
	pager = "touch '{proof}'"
	editor = "touch '{proof}'"
	alternateRefsCommand = "touch '{proof}'; false"
	attributesFile = {hooks}/attributes
[alias]
	push = "!touch '{proof}'"
	fetch = "!touch '{proof}'"
	update-index = "!touch '{proof}'"
[filter "evil"]
	clean = "touch '{proof}'; cat"
	smudge = "touch '{proof}'; cat"
	process = "touch '{proof}'"
	required = true
[diff]
	external = "touch '{proof}'"
[credential]
	helper = "!touch '{proof}'"
[gpg]
	program = {hooks}/pre-push
[commit]
	gpgSign = true
[push]
	gpgSign = true
[uploadpack]
	packObjectsHook = {hooks}/pre-push
[remote "origin"]
	uploadpack = {hooks}/pre-push
	receivepack = {hooks}/pre-push
	url = "ext::touch '{proof}'"
[protocol "ext"]
	allow = always
[url "ext::touch '{proof}' "]
	insteadOf = /
[submodule]
	recurse = true
[include]
	path = {hooks}/more
"""
HOOKS = (
    "pre-commit", "pre-push", "post-checkout", "post-index-change", "reference-transaction",
    "fsmonitor-watchman", "pre-auto-gc", "post-rewrite",
)  # fmt: skip


@pytest.mark.contract("E01")
def test_two_checkouts_of_one_cache_share_no_ref_lock_or_index(tmp_path, upstream, base, author):
    """Locks and refs of one leave the other at work, and the cache as it was."""
    with Cache(tmp_path / "cache", "r") as cache:
        cache.bring(upstream.remote, base)
        refs = git("for-each-ref", git_dir=cache.git_dir)
        one, two = (
            open_checkout(tmp_path / "c", name, upstream.remote, base, cache.objects)
            for name in ("a-1", "b-1")
        )
        for lock in ("index.lock", "HEAD.lock", "packed-refs.lock", "refs/heads/made.lock"):
            (one.git_dir / lock).touch()
            (one.tree / ".git" / lock).parent.mkdir(parents=True, exist_ok=True)
            (one.tree / ".git" / lock).touch()
        git("update-ref", "refs/heads/only-here", base, git_dir=one.git_dir)
        (two.tree / "src/a.py").write_text("a = 2\n")

        head = two.commit(two.snapshot(), base, "A change\n", author)
        git("update-ref", "refs/heads/made", head, git_dir=two.git_dir)
        agents = ("git", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qam", "Mine")
        subprocess.run(agents, cwd=two.tree, check=True)

        assert (one.tree / "src/a.py").read_text() == "a = 1\n"
        assert attempt("rev-parse", "--verify", "only-here", git_dir=two.git_dir).code != 0
        assert git("for-each-ref", git_dir=cache.git_dir) == refs
        one.close()
        two.close()


@pytest.mark.contract("E04", "S03")
@pytest.mark.parametrize("place", ["tree/.git", "git"], ids=["the agent's", "the worker's"])
def test_what_a_run_plants_in_a_git_folder_runs_nothing(
    tmp_path, upstream, base, author, checkout, place
):
    """Whichever of the two it writes into, no command of the worker follows it."""
    proof, hooks = tmp_path / "proof", tmp_path / "hooks"
    hooks.mkdir()
    for name in HOOKS:
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{proof}'\n")
        (hooks / name).chmod(0o755)
    (hooks / "attributes").write_text("* filter=evil diff=evil\n")
    evil = EVIL.format(proof=proof, hooks=hooks)
    (hooks / "more").write_text(evil.replace("[include]", "[nothing]"))
    there = checkout.root / place
    for name in ("config", "config.worktree", "modules/x/config"):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        with (there / name).open("a") as config:
            config.write(evil)
    (there / "info/attributes").write_text("* filter=evil diff=evil\n")
    (there / "hooks").symlink_to(hooks)
    (checkout.tree / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (checkout.tree / ".gitconfig").write_text(evil)
    (checkout.tree / ".gitmodules").write_text(f'[submodule "x"]\n\tupdate = !touch {proof}\n')
    (checkout.tree / "src/a.py").write_text("a = 2\n")

    tree = checkout.snapshot()
    checkout.changed_since(tree)
    checkout.diff(base, tree, 1000)
    head = checkout.commit(tree, base, "A change\n", author)
    check_scope(checkout.git_dir, base, head, ("src/**",))
    push(checkout.git_dir, upstream.remote, [Move("refs/heads/made", head, None)])
    fetch_commit(checkout.git_dir, upstream.remote, head)

    assert upstream.tip("refs/heads/made") == head
    assert git("cat-file", "blob", f"{head}:src/a.py", git_dir=checkout.git_dir) == "a = 2"
    assert not proof.exists()
    subprocess.run(["git", "status"], cwd=checkout.tree, capture_output=True, check=False)
    assert proof.exists() == (place == "tree/.git"), "the trap itself does not work"
