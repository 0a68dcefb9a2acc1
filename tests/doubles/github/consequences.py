"""What follows from a change: requests follow their branches, events go out, lags begin."""

from __future__ import annotations

from typing import Any

from doubles.github import merging, plumbing
from doubles.github.lag import Lag, Lags
from doubles.github.shapes import check as check_shape
from doubles.github.shapes import pull as pull_shape
from doubles.github.shapes import repository as repository_shape
from doubles.github.shapes.account import user as user_shape
from doubles.github.webhook import Webhooks
from doubles.github.world import App, CheckRun, CheckSuite, Pull, Repository, Status, User, World


class Consequences:
    """The half of the server that reacts."""

    url: str
    world: World
    lags: Lags
    webhooks: Webhooks

    def hides(self, kind: str, repo: Repository, key: str) -> Lag | None:
        """The lag that hides something from this look."""
        return self.lags.hides(kind, f"{repo.id}/{key}", self.world.clock.now())

    def born(self, kinds: tuple[str, ...], repo: Repository, key: str, branch: str) -> None:
        """Something new, which lags may hide."""
        key, now = f"{repo.id}/{key}", self.world.clock.now()
        self.lags.note(kinds, key, repo.full_name, branch, now)

    def pushed(self, repo: Repository, updates: list[tuple[str, str, str]]) -> None:
        """Refs have moved, by whatever way."""
        with self.world.lock:
            repo.pushed_at = self.world.clock.now()
            for old, new, ref in updates:
                name = ref.removeprefix("refs/heads/")
                if name != ref and new.strip("0") and old != new:
                    self.born(("head", "compare", "branch"), repo, name, name)
                body = {"ref": ref, "before": old, "after": new}
                self._emit(repo, "push", body)
            self.follow(repo)

    def follow(self, repo: Repository) -> None:
        """Open requests follow their branches: a gone head closes, a merged one merges."""
        tips = plumbing.refs(repo.git_dir, "refs/heads/")
        for pull in [each for each in repo.pulls.values() if each.state == "open"]:
            head, base = tips.get(f"refs/heads/{pull.head}"), tips.get(f"refs/heads/{pull.base}")
            if head is None or base is None:
                self.end(repo, pull)
                continue
            if head != pull.head_sha:
                pull.earlier_heads.append(pull.head_sha)
                pull.head_sha, pull.updated_at = head, self.world.clock.now()
                plumbing.git(repo.git_dir, "update-ref", f"refs/pull/{pull.number}/head", head)
                self.born(("head_sha",), repo, str(pull.number), pull.head)
                self.tell_pull(repo, pull, "synchronize")
            if plumbing.merge_base(repo.git_dir, base, head) == head:
                merging.end_as_merged(self, repo, pull, pull.user, base)

    def end(self, repo: Repository, pull: Pull) -> None:
        """Close a request, merged or not."""
        pull.end(self.world.clock.now())
        self.tell_pull(repo, pull, "closed")

    def add_status(
        self, repo: Repository, sha: str, state: str, context: str,
        description: str | None, target_url: str | None, creator: User,
    ) -> Status:  # fmt: skip
        """Add a commit status."""
        now = self.world.clock.now()
        number = self.world.next_id()
        one = Status(number, sha, state, context, description, target_url, creator, now)
        repo.statuses.append(one)
        named = {"sha": sha, "state": state, "context": context, "description": description}
        self._emit(repo, "status", {"id": one.id, **named})
        return one

    def add_run(self, repo: Repository, app: App, name: str, sha: str, **more: Any) -> CheckRun:
        """Add a check run, and the suite that it belongs to."""
        now = self.world.clock.now()
        suite = next(
            (s for s in repo.suites.values() if (s.app, s.head_sha) == (app.id, sha)), None
        )
        if suite is None:
            branches = plumbing.refs(repo.git_dir, "refs/heads/").items()
            branch = next((ref[11:] for ref, tip in branches if tip == sha), None)
            suite = CheckSuite(self.world.next_id(), app.id, sha, branch, now)
            repo.suites[suite.id] = suite
        one = CheckRun(self.world.next_id(), suite.id, app.id, name, sha, "queued", None, now, None)
        repo.check_runs[one.id] = one
        self.change_run(repo, one, action="created", **more)
        return one

    def change_run(self, repo: Repository, one: CheckRun, action: str = "", **changes: Any) -> None:
        """Change a run; its suite ends with the last of its runs."""
        for key, value in changes.items():
            setattr(one, key, value)
        if one.status == "completed":
            one.completed_at = one.completed_at or self.world.clock.now()
        action = action or ("completed" if one.status == "completed" else "rerequested")
        shown = check_shape.run(self.url, self.world, repo, one)
        self._emit(repo, "check_run", {"action": action, "check_run": shown})
        suite = check_shape.suite(self.url, self.world, repo, repo.suites[one.suite])
        if suite["status"] == "completed":
            self._emit(repo, "check_suite", {"action": "completed", "check_suite": suite})

    def tell_pull(self, repo: Repository, pull: Pull, action: str) -> None:
        """Send the event of a request."""
        if self.webhooks.hooks:
            shown = pull_shape.full(self.url, repo, pull)
            body = {"action": action, "number": pull.number, "pull_request": shown}
            self._emit(repo, "pull_request", body)

    def _emit(self, repo: Repository, event: str, body: dict[str, Any]) -> None:
        if self.webhooks.hooks:
            shown = repository_shape.repository(self.url, repo)
            sender = user_shape(self.url, repo.owner)
            payload = {**body, "repository": shown, "sender": sender}
            self.webhooks.emit(repo.id, event, payload)
