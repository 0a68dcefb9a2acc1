"""What other people do meanwhile, by the button or by their own git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doubles.github import merging, opening, plumbing
from doubles.github.rules import ZERO
from doubles.github.world import Comment, Pull, Repository

if TYPE_CHECKING:
    from doubles.github.server import GitHub


class People:
    """Hands of others on the repositories; rules and tokens do not bind them."""

    github: GitHub

    def repo(self, full_name: str) -> Repository:
        """See `Setup`."""
        raise NotImplementedError

    # --- git

    def push(
        self,
        full_name: str,
        branch: str,
        files: dict[str, str] | None = None,
        parent: str | None = None,
        message: str = "By hand",
        who: str = "stranger",
    ) -> str:
        """A new commit on a branch (or on `parent`, whatever the branch held); its SHA."""
        repo = self.repo(full_name)
        with self.github.world.lock:
            old = plumbing.branch(repo.git_dir, branch)
            start = parent or old or plumbing.branch(repo.git_dir, repo.default_branch)
            content = (
                {f"{branch.replace('/', '-')}.txt": f"{message}\n"} if files is None else files
            )
            parents = [start] if start else []
            sha = plumbing.write_commit(repo.git_dir, who, message, parents, content)
            self.set_ref(full_name, f"refs/heads/{branch}", sha)
        return sha

    def set_ref(self, full_name: str, ref: str, sha: str | None) -> None:
        """Move any ref anywhere; None deletes it."""
        repo = self.repo(full_name)
        old = plumbing.tip(repo.git_dir, ref) or ZERO
        if sha is None:
            plumbing.git(repo.git_dir, "update-ref", "-d", ref)
        else:
            plumbing.git(repo.git_dir, "update-ref", ref, sha)
        self.github.pushed(repo, [(old, sha or ZERO, ref)])

    def delete_branch(self, full_name: str, branch: str) -> None:
        """Its open requests close."""
        self.set_ref(full_name, f"refs/heads/{branch}", None)

    # --- requests

    def open_pull(
        self,
        full_name: str,
        head: str,
        base: str = "main",
        title: str = "By hand",
        body: str | None = "Mine.",
        who: str = "stranger",
        force: bool = False,
    ) -> int:
        """A request of somebody else; its number. Forced, it may be a second one that is open."""
        repo = self.repo(full_name)
        asked = opening.Wanted(title, body, head, base)
        with self.github.world.lock:
            if not force:
                opening.refuse(self.github, repo, asked)
            return opening.open_pull(self.github, repo, asked, self.github.world.user(who)).number

    def pull(self, full_name: str, number: int) -> Pull:
        """The request of that number (in this process only)."""
        return self.repo(full_name).pulls[number]

    def close_pull(self, full_name: str, number: int) -> None:
        """Close it without merging."""
        with self.github.world.lock:
            self.github.end(self.repo(full_name), self.pull(full_name, number))

    def reopen_pull(self, full_name: str, number: int) -> None:
        """Open it again."""
        with self.github.world.lock:
            opening.reopen(self.github, self.repo(full_name), self.pull(full_name, number))

    def merge_pull(
        self, full_name: str, number: int, who: str = "maintainer", method: str = "merge"
    ) -> str:
        """Merge or squash it; the commit."""
        repo = self.repo(full_name)
        with self.github.world.lock:
            user = self.github.world.user(who)
            return merging.merge(self.github, repo, self.pull(full_name, number), user, method)

    def retarget_pull(self, full_name: str, number: int, base: str) -> None:
        """Send it to another base."""
        with self.github.world.lock:
            repo = self.repo(full_name)
            opening.retarget(self.github, repo, self.pull(full_name, number), base)

    def edit_pull(
        self, full_name: str, number: int, title: str | None = None, body: str | None = None
    ) -> None:
        """Another title or body."""
        with self.github.world.lock:
            one = self.pull(full_name, number)
            one.title = one.title if title is None else title
            one.body = one.body if body is None else body
            one.updated_at = self.github.world.clock.now()
            self.github.tell_pull(self.repo(full_name), one, "edited")

    def forget_pull(self, full_name: str, number: int) -> None:
        """Remove it altogether, as GitHub's staff can; the ledger keeps no trace of it."""
        with self.github.world.lock:
            del self.repo(full_name).pulls[number]

    def comment(self, full_name: str, number: int, body: str, who: str = "stranger") -> int:
        """A comment of somebody else; its id."""
        with self.github.world.lock:
            world, now = self.github.world, self.github.world.clock.now()
            one = Comment(world.next_id(), number, body, world.user(who), now, now)
            self.repo(full_name).comments[one.id] = one
            return one.id

    # --- other people's machines

    def set_status(
        self, full_name: str, sha: str, context: str, state: str, who: str = "ci"
    ) -> int:
        """A commit status of somebody else's; its id."""
        with self.github.world.lock:
            user = self.github.world.user(who)
            repo = self.repo(full_name)
            return self.github.add_status(repo, sha, state, context, None, None, user).id

    def set_check(
        self,
        full_name: str,
        sha: str,
        name: str,
        status: str = "completed",
        conclusion: str | None = "success",
        app_id: int | None = None,
    ) -> int:
        """A check run of an App (any, when none is named), new or the one of its name; its id."""
        world, repo = self.github.world, self.repo(full_name)
        with world.lock:
            app = world.apps[app_id if app_id is not None else next(iter(world.apps))]
            more: dict[str, Any] = {"status": status}
            more["conclusion"] = conclusion if status == "completed" else None
            for one in repo.check_runs.values():
                if (one.app, one.name, one.head_sha) == (app.id, name, sha):
                    self.github.change_run(repo, one, **more)
                    return one.id
            return self.github.add_run(repo, app, name, sha, **more).id
