"""What the server knows: users, repositories, requests, tokens; one lock around all of it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Clock:
    """The server's own time, which tests move forward."""

    def __init__(self) -> None:
        self.offset = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self.offset


@dataclass
class User:
    """An account: a person, an organisation or the bot of an App."""

    id: int
    login: str
    kind: str = "User"


@dataclass
class Pull:
    """One pull request; its number is shared with issues."""

    id: int
    number: int
    title: str
    body: str | None
    head: str
    base: str
    head_sha: str
    base_sha: str
    user: User
    created_at: float
    updated_at: float
    draft: bool = False
    state: str = "open"
    closed_at: float | None = None
    merged_at: float | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    labels: list[str] = field(default_factory=list)
    reviewers: list[User] = field(default_factory=list)
    maintainer_can_modify: bool = False
    looks: int = 0
    earlier_heads: list[str] = field(default_factory=list)
    first_body: str | None = None  #: as it was opened, whatever people edit

    def end(self, at: float) -> None:
        """Close it, merged or not."""
        self.state, self.closed_at, self.updated_at = "closed", at, at


@dataclass
class Comment:
    """A comment on the conversation of a request."""

    id: int
    number: int
    body: str
    user: User
    created_at: float
    updated_at: float


@dataclass
class Status:
    """One commit status; the latest of a context counts."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: float


@dataclass
class CheckRun:
    """One run of a check, made by an App."""

    id: int
    suite: int
    app: int
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    started_at: float | None
    completed_at: float | None
    details_url: str | None = None
    external_id: str = ""
    output: dict[str, Any] = field(default_factory=dict)


@dataclass
class CheckSuite:
    """The runs of one App on one commit."""

    id: int
    app: int
    head_sha: str
    head_branch: str | None
    created_at: float


@dataclass
class Rule:
    """Refuses pushes to refs that match: `refs/heads/agent/**`, `refs/fencepost/**`."""

    pattern: str
    kinds: list[str]  #: creation, update, deletion
    reason: str = "rules"  #: rules, secrets, protected, hook or hidden
    text: str = ""


@dataclass
class App:
    """A GitHub App with the public half of its key."""

    id: int
    client_id: str
    slug: str
    owner: User
    public_key: str
    permissions: dict[str, str]
    bot: User


@dataclass
class Installation:
    """An App on an account, for some repositories."""

    id: int
    app: App
    account: User
    repositories: set[int]
    permissions: dict[str, str]
    token_seconds: float = 3600
    is_suspended: bool = False


@dataclass
class Token:
    """A credential and what it may do."""

    value: str
    name: str
    user: User
    kind: str  #: personal, fine_grained, installation
    permissions: dict[str, str]
    repositories: set[int] | None  #: ids; None: every one
    expires_at: float | None = None
    is_revoked: bool = False
    installation: Installation | None = None
    limit: int = 5000
    used: int = 0
    window_ends: float = 0


@dataclass
class Repository:
    """A repository and what the forge keeps beside git."""

    id: int
    owner: User
    name: str
    git_dir: Path
    private: bool
    default_branch: str
    created_at: float
    pushed_at: float
    drafts: bool = True
    collaborators: set[str] = field(default_factory=set)
    former_names: list[str] = field(default_factory=list)
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    suites: dict[int, CheckSuite] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    next_number: int = 1

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


class World:
    """Everything, behind one lock: each request of the API is one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.lock = threading.RLock()
        self.users: dict[str, User] = {}
        self.repositories: dict[int, Repository] = {}
        self.tokens: dict[str, Token] = {}
        self.apps: dict[int, App] = {}
        self.installations: dict[int, Installation] = {}
        self._ids: Iterator[int] = itertools.count(1001)

    def next_id(self) -> int:
        """An id that nothing else has."""
        return next(self._ids)

    def user(self, login: str, kind: str = "User") -> User:
        """The account of that name, made when it is new."""
        if login not in self.users:
            self.users[login] = User(self.next_id(), login, kind)
        return self.users[login]

    def find(self, full_name: str) -> Repository | None:
        """The repository that has the name now; GitHub compares without case."""
        for one in self.repositories.values():
            if one.full_name.lower() == full_name.lower():
                return one
        return None

    def renamed(self, full_name: str) -> Repository | None:
        """The repository that once had the name."""
        for one in self.repositories.values():
            if full_name.lower() in one.former_names:
                return one
        return None


def stamp(at: float | None) -> str | None:
    """A time as the API writes it."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
