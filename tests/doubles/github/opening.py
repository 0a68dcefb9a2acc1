"""When a pull request may be opened, reopened or sent elsewhere, and what GitHub says when not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doubles.github import plumbing
from doubles.github.exchange import Refused, invalid
from doubles.github.world import Pull, Repository, User

if TYPE_CHECKING:
    from doubles.github.lag import Lag
    from doubles.github.server import GitHub

LONGEST_TITLE, LONGEST_BODY = 256, 65536


@dataclass(frozen=True)
class Wanted:
    """What somebody asks to open."""

    title: str
    body: str | None
    head: str
    base: str
    draft: bool = False
    maintainer_can_modify: bool = False


def wanted(repo: Repository, fields: dict[str, Any]) -> Wanted:
    """The request in a body; 422 where the body cannot mean one."""
    for name in ("title", "head", "base"):
        if name not in fields:
            raise Refused(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        if not isinstance(fields[name], str):
            raise Refused(422, f"Invalid request.\n\nFor 'properties/{name}', not a string.")
    owner, colon, head = fields["head"].partition(":")
    if not colon:
        owner, head = repo.owner.login, fields["head"]
    if owner.lower() != repo.owner.login.lower() or not head:
        raise invalid("PullRequest", field="head", code="invalid")
    refuse_texts(fields["title"], fields.get("body"))
    return Wanted(
        fields["title"],
        fields.get("body"),
        head,
        fields["base"],
        bool(fields.get("draft", False)),
        bool(fields.get("maintainer_can_modify", False)),
    )


def refuse_texts(title: str, body: str | None) -> None:
    """GitHub's bounds on title and body, in characters."""
    if not title.strip():
        raise invalid("PullRequest", code="missing_field", field="title")
    if len(title) > LONGEST_TITLE:
        message = f"title is too long (maximum is {LONGEST_TITLE} characters)"
        raise invalid("PullRequest", message, field="title")
    if body is not None and len(body) > LONGEST_BODY:
        message = f"body is too long (maximum is {LONGEST_BODY} characters)"
        raise invalid("Issue", message, field="body")


def refuse(github: GitHub, repo: Repository, asked: Wanted) -> None:
    """Raise what GitHub would say to this request, or return."""
    if asked.draft and not repo.drafts:
        raise Refused(422, "Draft pull requests are not supported in this repository.")
    base = plumbing.branch(repo.git_dir, asked.base)
    if base is None:
        raise invalid("PullRequest", field="base", code="invalid")
    head = plumbing.branch(repo.git_dir, asked.head)
    if head is None:
        raise invalid("PullRequest", field="head", code="invalid")
    if lag := github.hides("head", repo, asked.head):
        raise unseen(lag, asked)
    other = same_open(repo, asked.head, asked.base)
    if other is not None and not github.hides("exists", repo, str(other.number)):
        whose = f"{repo.owner.login}:{asked.head}"
        raise invalid("PullRequest", f"A pull request already exists for {whose}.")
    if plumbing.merge_base(repo.git_dir, base, head) is None:
        message = f"The {asked.head} branch has no history in common with {asked.base}"
        raise invalid("PullRequest", message)
    if plumbing.count(repo.git_dir, f"{base}..{head}") == 0:
        message = f"No commits between {asked.base} and {asked.head}"
        raise invalid("PullRequest", message)


def unseen(lag: Lag, asked: Wanted) -> Refused:
    """The three ways in which GitHub refuses a head that it does not see yet."""
    match lag.form:
        case "no_commits":
            return invalid("PullRequest", f"No commits between {asked.base} and {asked.head}")
        case "blank_sha":
            return invalid("PullRequest", "Head sha can't be blank")
        case _:
            return invalid("PullRequest", field="head", code="invalid")


def same_open(repo: Repository, head: str, base: str) -> Pull | None:
    """An open request for the same two branches."""
    for pull in repo.pulls.values():
        if (pull.state, pull.head, pull.base) == ("open", head, base):
            return pull
    return None


def open_pull(github: GitHub, repo: Repository, asked: Wanted, user: User) -> Pull:
    """Make it, whoever else has one: only `refuse` looks."""
    now = github.world.clock.now()
    head = plumbing.branch(repo.git_dir, asked.head)
    base = plumbing.branch(repo.git_dir, asked.base)
    assert head is not None
    assert base is not None
    pull = Pull(
        id=github.world.next_id(),
        number=repo.next_number,
        title=asked.title,
        body=asked.body,
        head=asked.head,
        base=asked.base,
        head_sha=head,
        base_sha=plumbing.merge_base(repo.git_dir, base, head) or base,
        user=user,
        created_at=now,
        updated_at=now,
        draft=asked.draft,
        maintainer_can_modify=asked.maintainer_can_modify,
        first_body=asked.body,
    )
    repo.next_number += 1
    repo.pulls[pull.number] = pull
    plumbing.git(repo.git_dir, "update-ref", f"refs/pull/{pull.number}/head", head)
    github.born(("list", "pull", "node", "exists"), repo, str(pull.number), asked.head)
    github.tell_pull(repo, pull, "opened")
    return pull


def reopen(github: GitHub, repo: Repository, pull: Pull) -> None:
    """Open it again, if its branches allow."""
    reason = None
    if pull.merged_at is not None:
        reason = "The pull request was merged."
    elif plumbing.branch(repo.git_dir, pull.head) is None:
        reason = f"The {pull.head} branch has been deleted."
    elif same_open(repo, pull.head, pull.base):
        sides = f"from {repo.owner.login}:{pull.head} to {repo.owner.login}:{pull.base}"
        reason = f"There is already an open pull request {sides}."
    if reason:
        raise invalid("PullRequest", f"state cannot be changed. {reason}", field="state")
    pull.state, pull.closed_at = "open", None
    github.tell_pull(repo, pull, "reopened")
    github.follow(repo)


def retarget(github: GitHub, repo: Repository, pull: Pull, base: str) -> None:
    """Send it to another base."""
    tip = plumbing.branch(repo.git_dir, base)
    if tip is None:
        raise invalid("PullRequest", field="base", code="invalid")
    if same_open(repo, pull.head, base):
        message = (
            f"A pull request already exists for base branch '{base}' and head branch '{pull.head}'"
        )
        raise invalid("PullRequest", message, field="base")
    if pull.state != "open":
        raise Refused(422, "Cannot change the base branch of a closed pull request.")
    pull.base, pull.base_sha = base, plumbing.merge_base(repo.git_dir, tip, pull.head_sha) or tip
    github.tell_pull(repo, pull, "edited")
