"""What a test sets up: repositories, tokens, Apps, rules, hooks and the time."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from doubles.github import plumbing
from doubles.github.webhook import Hook
from doubles.github.world import App, Installation, Repository, Rule, Token

if TYPE_CHECKING:
    from doubles.github.server import GitHub

#: what Fencepost's documentation asks of a token
ENOUGH = {
    "contents": "write", "pull_requests": "write", "issues": "write",
    "statuses": "write", "checks": "read", "metadata": "read",
}  # fmt: skip
PREFIXES = {"fine_grained": "github_pat_", "personal": "ghp_", "installation": "ghs_"}


class Setup:
    """The state of the world before anything happens."""

    github: GitHub

    def repo(self, full_name: str) -> Repository:
        """The repository of that name (in this process only)."""
        found = self.github.world.find(full_name) or self.github.world.renamed(full_name)
        if found is None:
            raise KeyError(full_name)
        return found

    def add_repository(
        self,
        full_name: str,
        private: bool = True,
        default_branch: str = "main",
        files: dict[str, str] | None = None,
        drafts: bool = True,
    ) -> dict[str, Any]:
        """A repository with one commit; its id, clone URL, git folder and first commit."""
        world = self.github.world
        owner, _, name = full_name.partition("/")
        with world.lock:
            now, number = world.clock.now(), world.next_id()
            git_dir = world.folder / f"repository-{number}.git"
            plumbing.create(git_dir, default_branch)
            account = world.user(owner, "Organization")
            one = Repository(number, account, name, git_dir, private, default_branch, now, now)
            one.drafts = drafts
            world.repositories[number] = one
            content = {"README.md": f"# {name}\n"} if files is None else files
            sha = plumbing.write_commit(git_dir, owner, "Begin", [], content)
            plumbing.git(git_dir, "update-ref", f"refs/heads/{default_branch}", sha)
        url = f"{self.github.url}/{full_name}.git"
        return {"id": number, "url": url, "git_dir": str(git_dir), "sha": sha}

    def rename_repository(self, full_name: str, new_name: str) -> None:
        """The old name redirects from now on."""
        one = self.repo(full_name)
        one.former_names.append(one.full_name.lower())
        owner, _, one.name = new_name.partition("/")
        one.owner = self.github.world.user(owner, "Organization")

    def add_token(
        self,
        login: str = "fleet-bot",
        permissions: dict[str, str] | None = None,
        repositories: list[str] | None = None,
        kind: str = "fine_grained",
        expires_in: float | None = None,
        value: str | None = None,
        name: str | None = None,
    ) -> str:
        """A token of a person; its secret. Without permissions it has what Fencepost needs."""
        world = self.github.world
        secret = value or PREFIXES[kind] + secrets.token_hex(18)
        world.tokens[secret] = Token(
            value=secret,
            name=name or f"{login}-{len(world.tokens) + 1}",
            user=world.user(login),
            kind=kind,
            permissions=dict(ENOUGH if permissions is None else permissions),
            repositories=None if repositories is None else {self.repo(r).id for r in repositories},
            expires_at=None if expires_in is None else world.clock.now() + expires_in,
        )
        return secret

    def change_token(
        self,
        value: str,
        permissions: dict[str, str] | None = None,
        expires_in: float | None = None,
        limit: int | None = None,
    ) -> None:
        """Other permissions, another end, another hourly limit."""
        token = self.github.world.tokens[value]
        if permissions is not None:
            token.permissions = dict(permissions)
        if expires_in is not None:
            token.expires_at = self.github.world.clock.now() + expires_in
        if limit is not None:
            token.limit = limit

    def revoke_token(self, value: str) -> None:
        """From now on it is as if it had never been."""
        self.github.world.tokens[value].is_revoked = True

    def revoke_all(self, kind: str = "installation") -> int:
        """Revoke every token of a kind; how many there were."""
        found = [each for each in self.github.world.tokens.values() if each.kind == kind]
        for token in found:
            token.is_revoked = True
        return len(found)

    def add_app(
        self, slug: str, permissions: dict[str, str] | None = None, owner: str = "acme"
    ) -> dict[str, Any]:
        """An App; its id, client id and private key (PEM)."""
        world = self.github.world
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        number = world.next_id()
        held = {**ENOUGH, "checks": "write"} if permissions is None else permissions
        app = App(
            id=number,
            client_id=f"Iv23li{number:014d}",
            slug=slug,
            owner=world.user(owner, "Organization"),
            public_key=key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            ).decode(),
            permissions={k: v for k, v in held.items() if k != "metadata"},
            bot=world.user(f"{slug}[bot]", "Bot"),
        )  # fmt: skip
        world.apps[number] = app
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode()
        return {"id": number, "client_id": app.client_id, "private_key": private}

    def install_app(
        self,
        app_id: int,
        repositories: list[str],
        permissions: dict[str, str] | None = None,
        token_seconds: float = 3600,
    ) -> int:
        """Install an App for repositories of one owner; the installation's id."""
        world = self.github.world
        app, repos = world.apps[app_id], [self.repo(each) for each in repositories]
        held = app.permissions if permissions is None else permissions
        number = world.next_id()
        world.installations[number] = Installation(
            number, app, repos[0].owner, {each.id for each in repos}, dict(held), token_seconds
        )
        return number

    def suspend(self, installation: int, is_suspended: bool = True) -> None:
        """Suspend an installation, or end its suspension."""
        self.github.world.installations[installation].is_suspended = is_suspended

    def add_collaborator(self, full_name: str, login: str) -> None:
        """Somebody who may be asked for a review."""
        self.github.world.user(login)
        self.repo(full_name).collaborators.add(login)

    def add_rule(
        self,
        full_name: str,
        pattern: str,
        kinds: list[str] | None = None,
        reason: str = "rules",
        text: str = "",
    ) -> None:
        """Refuse pushes to refs that match (`refs/heads/agent/*`, `refs/fencepost/*`, `*`).

        `reason` gives the words: rules (GH013), protected (GH006), hook, hidden; secrets refuses
        a push that brings `text` in any object.
        """
        every = ["creation", "update", "deletion"] if kinds is None else kinds
        self.repo(full_name).rules.append(Rule(pattern, every, reason, text))

    def clear_rules(self, full_name: str) -> None:
        """No rules."""
        self.repo(full_name).rules.clear()

    def add_webhook(
        self, full_name: str, url: str, secret: str, events: list[str] | None = None
    ) -> None:
        """Send a repository's events to an address, signed."""
        names = ["*"] if events is None else events
        self.github.webhooks.hooks.append(Hook(self.repo(full_name).id, url, secret, names))

    def advance(self, seconds: float) -> float:
        """Move the server's clock; the time that it has now."""
        self.github.world.clock.offset += seconds
        return self.github.world.clock.now()
