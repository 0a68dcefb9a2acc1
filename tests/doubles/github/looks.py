"""What a test reads: the record of requests, the ledger of pull requests, refs, statuses."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from doubles.github import plumbing
from doubles.github.openapi import violations_of
from doubles.github.shapes.check import run as run_shape
from doubles.github.world import Pull, Repository, stamp

if TYPE_CHECKING:
    from doubles.github.record import Entry
    from doubles.github.server import GitHub

MARKER = r"fencepost\s+operation\s*=\s*([0-9a-f]{64})"


class Looks:
    """Reading changes nothing: no look here counts for a lag."""

    github: GitHub

    def repo(self, full_name: str) -> Repository:
        """See `Setup`."""
        raise NotImplementedError

    def requests(
        self,
        method: str | None = None,
        path: str = "*",
        stored: bool | None = None,
        status: int | None = None,
        after: int = 0,
    ) -> list[dict[str, Any]]:
        """What was received, in order of arrival; `path` is a pattern over what follows /api/v3."""
        return [asdict(each) for each in self._found(method, path, stored, status, after)]

    def count(
        self,
        method: str | None = None,
        path: str = "*",
        stored: bool | None = None,
        status: int | None = None,
        after: int = 0,
    ) -> int:
        """How many such requests were received."""
        return len(self._found(method, path, stored, status, after))

    def _found(
        self, method: str | None, path: str, stored: bool | None, status: int | None, after: int
    ) -> list[Entry]:
        return [
            each for each in self.github.record.entries()
            if method in {None, each.method}
            and fnmatchcase(each.path.removeprefix("/api/v3"), path)
            and stored in {None, each.stored}
            and status in {None, each.status}
            and each.seq > after
        ]  # fmt: skip

    def forget_requests(self) -> None:
        """Count from zero; the file keeps everything."""
        self.github.record.forget()

    def secrets_seen(self) -> list[str]:
        """Where a token's secret stood in a path or a query; empty is right."""
        found = self.github.record.entries()
        return [
            f"{each.method} {each.path}: {where}" for each in found for where in each.secrets_in
        ]

    def pulls(self, full_name: str) -> list[dict[str, Any]]:
        """Every request that was ever opened, whatever became of it, by number."""
        return [seen(pull) for pull in self.repo(full_name).pulls.values()]

    def created_per_head(self, full_name: str) -> dict[str, int]:
        """How many requests were ever opened for each head."""
        return dict(Counter(pull.head for pull in self.repo(full_name).pulls.values()))

    def created_per_marker(self, full_name: str, pattern: str = MARKER) -> dict[str, int]:
        """How many requests were ever opened whose first body held each marker."""
        bodies = [pull.first_body or "" for pull in self.repo(full_name).pulls.values()]
        return dict(Counter(mark for body in bodies for mark in set(re.findall(pattern, body))))

    def comments(self, full_name: str, number: int) -> list[dict[str, Any]]:
        """The comments of a request."""
        rows = self.repo(full_name).comments.values()
        return [
            {"id": each.id, "body": each.body, "by": each.user.login}
            for each in rows
            if each.number == number
        ]

    def statuses(self, full_name: str, sha: str) -> list[dict[str, Any]]:
        """Every status ever made for a commit, oldest first."""
        return [
            {"context": each.context, "state": each.state, "by": each.creator.login,
             "description": each.description, "target_url": each.target_url}
            for each in self.repo(full_name).statuses if each.sha == sha
        ]  # fmt: skip

    def check_runs(self, full_name: str, sha: str) -> list[dict[str, Any]]:
        """Every check run ever made for a commit, oldest first."""
        repo, github = self.repo(full_name), self.github
        runs = [each for each in repo.check_runs.values() if each.head_sha == sha]
        return [run_shape(github.url, github.world, repo, each) for each in runs]

    def refs(self, full_name: str, prefix: str = "refs/") -> dict[str, str]:
        """Ref name to object, without the forge's own refs/pull."""
        found = plumbing.refs(self.repo(full_name).git_dir)
        return {
            name: sha for name, sha in found.items()
            if name.startswith(prefix) and not name.startswith("refs/pull/")
        }  # fmt: skip

    def deliveries(self) -> list[dict[str, Any]]:
        """Every webhook delivery with the statuses it met."""
        return [
            {"id": each.id, "event": each.event, "action": each.payload.get("action"),
             "statuses": list(each.statuses), "is_skipped": each.is_skipped}
            for each in self.github.webhooks.deliveries
        ]  # fmt: skip

    def violations(self) -> list[str]:
        """Where requests or our own answers leave GitHub's OpenAPI description; empty is right.

        MissingDescription without the description: `ops/openapi` fetches it.
        """
        return violations_of(self.github.record.entries())


def seen(pull: Pull) -> dict[str, Any]:
    """A request in the ledger."""
    return {
        "number": pull.number,
        "state": "merged" if pull.merged_at else pull.state,
        "head": pull.head,
        "head_sha": pull.head_sha,
        "base": pull.base,
        "title": pull.title,
        "body": pull.body,
        "by": pull.user.login,
        "draft": pull.draft,
        "labels": list(pull.labels),
        "reviewers": [each.login for each in pull.reviewers],
        "created_at": stamp(pull.created_at),
    }
