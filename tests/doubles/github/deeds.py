"""What people do to whatever request came last: for schedules, which know no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doubles.github import plumbing
from doubles.github.world import Pull, Repository

if TYPE_CHECKING:
    from doubles.github.server import GitHub


class Deeds:
    """Hands that find their own way; where there is no request, they do nothing."""

    github: GitHub

    def repo(self, full_name: str) -> Repository:
        """See `Setup`."""
        raise NotImplementedError

    def newest(self, full_name: str) -> Pull | None:
        """The request with the highest number that is open (in this process only)."""
        found = [pull for pull in self.repo(full_name).pulls.values() if pull.state == "open"]
        return found[-1] if found else None

    def close_newest(self, full_name: str) -> int | None:
        """Close it."""
        return self._do(full_name, "close_pull")

    def merge_newest(self, full_name: str) -> int | None:
        """Merge it."""
        return self._do(full_name, "merge_pull")

    def retarget_newest(self, full_name: str, base: str) -> int | None:
        """Send it to another base, made of the default branch when it is new."""
        repo = self.repo(full_name)
        if plumbing.branch(repo.git_dir, base) is None:
            tip = plumbing.branch(repo.git_dir, repo.default_branch)
            self._people().set_ref(full_name=full_name, ref=f"refs/heads/{base}", sha=tip)
        return self._do(full_name, "retarget_pull", base=base)

    def edit_newest(self, full_name: str, body: str) -> int | None:
        """Write another body over it."""
        return self._do(full_name, "edit_pull", body=body)

    def double_newest(self, full_name: str, who: str = "stranger") -> int | None:
        """Force a second open request for its head and base, with its own body."""
        pull = self.newest(full_name)
        if pull is None:
            return None
        more = {"title": pull.title, "body": pull.body, "force": True, "who": who}
        people = self._people()
        return int(people.open_pull(full_name=full_name, head=pull.head, base=pull.base, **more))

    def delete_newest_head(self, full_name: str) -> int | None:
        """Delete its head branch, which closes it."""
        pull = self.newest(full_name)
        if pull is None:
            return None
        self._people().delete_branch(full_name=full_name, branch=pull.head)
        return pull.number

    def open_on_unrequested(self, full_name: str, prefix: str = "") -> int | None:
        """A stranger's request on a branch that has none yet."""
        repo = self.repo(full_name)
        taken = {pull.head for pull in repo.pulls.values()} | {repo.default_branch}
        for ref in plumbing.refs(repo.git_dir, "refs/heads/"):
            branch = ref.removeprefix("refs/heads/")
            if branch.startswith(prefix) and branch not in taken:
                base = repo.default_branch
                return int(self._people().open_pull(full_name=full_name, head=branch, base=base))
        return None

    def delete_refs(self, full_name: str, prefix: str = "refs/fencepost/") -> int:
        """Delete every ref under a prefix; how many there were."""
        found = plumbing.refs(self.repo(full_name).git_dir, prefix)
        for ref in found:
            self._people().set_ref(full_name=full_name, ref=ref, sha=None)
        return len(found)

    def push_on_newest(self, full_name: str) -> int | None:
        """Somebody pushes another commit on its head."""
        pull = self.newest(full_name)
        if pull is None:
            return None
        self._people().push(full_name=full_name, branch=pull.head)
        return pull.number

    def _do(self, full_name: str, name: str, **more: Any) -> int | None:
        pull = self.newest(full_name)
        if pull is None:
            return None
        getattr(self._people(), name)(full_name=full_name, number=pull.number, **more)
        return pull.number

    def _people(self) -> Any:
        return self.github.door
