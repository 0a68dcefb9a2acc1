"""`fencepost doctor --repo`: what a repository and the credential for it allow, beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from app.cli.doctor_check import Check, fault, of_error, ok, tried, warning
from app.config import Settings
from app.domain.errors import FencepostError, ForgeRefused, PushRefused
from app.domain.operation import Mode
from app.github import probe
from app.github.account import account_of
from app.github.address import is_github
from app.github.hub import Hub, Repository
from app.repository.source import inspect

_GRANT = "grant it to the token or the App: see docs/github.md"
_REFS = "refs/fencepost/operations/"
_FALLBACK = "refs/heads/fencepost/operations/"
_CANDIDATES = "refs/heads/fencepost/"


def examined(settings: Settings, url: str) -> Iterator[Check]:
    """Every check of one repository; what an earlier one rests on is not looked at without it."""
    account = account_of(settings)
    if not is_github(url, account):
        yield from tried("read", lambda: _local(url))
        return
    try:
        at = Hub(account).repository(url)
        facts = at.facts()
        branches = probe.branches(at)
    except FencepostError as error:
        yield of_error("read", error)
        return
    seen = "private" if facts.get("private") else "public"
    yield ok("read", f"{facts['full_name']} at {account.host}, {seen}, {len(branches)} branches")
    if facts.get("archived") or facts.get("disabled"):
        yield fault("write", "read_only", "it is archived or disabled", "unarchive it")
        return
    default = str(facts.get("default_branch"))
    for name, look in (
        ("refs", lambda: _refs(at)),
        ("branches", lambda: _branches(at)),
        ("requests", lambda: _asked("requests", lambda: probe.requests(at, default))),
        ("statuses", lambda: _statuses(at)),
    ):
        yield from tried(name, look)


def account(settings: Settings) -> Iterator[Check]:
    """Who we are at GitHub, as far as the settings alone can tell."""
    one = account_of(settings)
    if not one.is_set:
        yield ok("github", "no credential: addresses there stay with the local forge")
        return
    who = f"App {one.app}" if one.app is not None else "a token"
    yield ok("github", f"{who} for {one.host}; `fencepost doctor --repo URL` tries it")


def _local(url: str) -> Iterator[Check]:
    source = inspect(url, None)
    yield ok("read", f"{source.name} at {source.base}; its requests stay with the local forge")


def _refs(at: Repository) -> Iterator[Check]:
    try:
        probe.ref(at, _REFS)
    except PushRefused as refused:
        yield from _without_custom_refs(at, refused)
    else:
        yield ok("refs", f"{_REFS} can be written (mode {Mode.REF})")


def _without_custom_refs(at: Repository, refused: PushRefused) -> Iterator[Check]:
    try:
        probe.ref(at, _FALLBACK)
    except PushRefused:
        yield from _without_marks(at, refused)
    else:
        yield warning(
            "refs", "custom_refs_refused",
            f"custom refs are refused (mode {Mode.BRANCH}): {refused.message}",
            f"allow {_REFS}*; until then {_FALLBACK} is used, and seen by everybody",
        )  # fmt: skip


def _without_marks(at: Repository, refused: PushRefused) -> Iterator[Check]:
    try:
        probe.ref(at, _CANDIDATES)
    except PushRefused:
        yield fault(
            "refs",
            "push_refused",
            f"neither custom refs nor branches: {refused.message}",
            f"let a rule of the remote allow {_REFS}, or {_GRANT}",
        )
    else:
        yield warning(
            "refs", "marks_refused",
            f"neither custom refs nor {_FALLBACK} (mode {Mode.DATABASE}): {refused.message}",
            f"allow {_REFS}*; until then a run that is cut short is held for a person",
        )  # fmt: skip


def _branches(at: Repository) -> Iterator[Check]:
    found = probe.rules(at, "fencepost/probe")
    if found:
        says = f"rules would refuse a new branch fencepost/…: {', '.join(found)}"
        yield fault("branches", "rules_refuse", says, "leave fencepost/** out of those rules")
    else:
        yield ok("branches", "no rule refuses fencepost/…; older protections show when one pushes")


def _statuses(at: Repository) -> Iterator[Check]:
    try:
        probe.statuses(at)
    except ForgeRefused as refused:
        yield warning("statuses", "no_statuses", refused.message, f"{_GRANT}; it is not needed")
    else:
        yield ok("statuses", "may be set")


def _asked(name: str, look: Callable[[], None]) -> Iterator[Check]:
    look()
    yield ok(name, "may be created")
