"""`fencepost pull-requests`: the requests of every repository, at the forge that each is of."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import click

from app import config
from app.cli import stack
from app.cli.shown import age, as_json, listing, plain
from app.domain.errors import Ambiguous, FencepostError, NotFound, Refused
from app.domain.pull_request import LOCAL_FORGE
from app.github import requests as github
from app.github.account import account_of
from app.github.hub import Hub
from app.github.hub import Repository as AtGitHub
from app.github.requests import Shown
from app.repository import requests
from app.repository.mirror import Mirror, pull_command
from app.repository.requests import PullRequest
from app.store.views.fleet import RepositorySeen, repositories_seen


class NotOurs(Refused):
    """What is at a forge that people merge at is merged and closed there."""

    code = "not_ours"


@dataclass(frozen=True, slots=True)
class Known:
    """A request, where it was found, and the shortest name that means it alone."""

    repository: RepositorySeen
    where: Mirror | AtGitHub
    request: PullRequest | Shown
    name: str = ""
    place: str = ""  #: the repository, told from others of its name


@click.group()
def command() -> None:
    """List and show pull requests; close and merge those of the local forge.

    A request is named by its number, or by REPOSITORY:NUMBER where several have that number. Those
    at GitHub are shown as they stand there, and are closed and merged there.
    """


@command.command(name="list")
@click.option("--state", type=click.Choice(["all", "open", "closed", "merged"]), default="all")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def list_(state: str, in_full: bool) -> None:
    """List the requests of every repository, newest first."""
    found = [one for one in _all() if state in ("all", one.request.state)]
    if in_full:
        return as_json([{**_facts(one), "repository": one.repository} for one in found])
    rows = [
        (f"#{one.request.number}", one.request.state, plain(one.request.title, 50),
         one.place, one.request.head, one.request.base, _age(one.request))
        for one in found
    ]  # fmt: skip
    return listing(
        ("number", "state", "title", "repository", "head", "base", "age"), rows,
        empty="no pull request yet; `fencepost run -- COMMAND` ends with one",
        then="fencepost pull-requests show NUMBER",
    )  # fmt: skip


@command.command()
@click.argument("number")
@click.option("--diff", is_flag=True, help="What it changes, as a patch, and nothing else.")
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
def show(number: str, diff: bool, in_full: bool) -> None:
    """Show one request: where it stands, and its text with the evidence."""
    one = _one(number)
    if diff:
        sys.stdout.buffer.write(_diff(one))
    elif in_full:
        as_json({**_facts(one), "repository": one.repository, "name": one.name})
    else:
        _tell(one)


@command.command()
@click.argument("number")
def close(number: str) -> None:
    """Close an open request without merging it."""
    one = _one(number)
    requests.close(_mirror(one), one.request.number)
    print(f"closed #{one.request.number} of {one.repository.name}")
    print("next: fencepost pull-requests list")


@command.command()
@click.argument("number")
def merge(number: str) -> None:
    """Merge an open request into the forge's base; nothing is pushed to where it came from."""
    one = _one(number)
    mirror = _mirror(one)
    merged = requests.merge(mirror, one.request.number)
    print(
        f"merged #{merged.number} of {one.repository.name} into {merged.base}: {merged.merged_sha}"
    )
    print(f"next: {pull_command(mirror, merged.base)}")


def fetch_command(where: Path | str, branch: str) -> str:
    """What the reader types in their clone to have the branch."""
    return shlex.join(["git", "fetch", str(where), branch])


def _diff(one: Known) -> bytes:
    if isinstance(one.where, Mirror):
        return requests.diff(one.where, one.request.number)
    return github.diff(one.where, one.request.number)


def _mirror(one: Known) -> Mirror:
    """Where a request is closed or merged, unless that is nobody's but GitHub's."""
    if isinstance(one.where, Mirror):
        return one.where
    raise NotOurs(
        f"request #{one.request.number} is at GitHub: Fencepost merges and closes nothing there",
        hint=f"see {one.request.url}",
    )


def _tell(one: Known) -> None:
    request = one.request
    print(f"#{request.number} {plain(request.title)}")
    rows = {
        "state": request.state,
        "repository": f"{one.repository.name} ({one.repository.url})",
        "head": f"{request.head} {request.head_sha}",
        "base": f"{request.base} {request.base_sha}",
        "merged": request.merged_sha,
        "age": _age(request),
    }
    for name, value in rows.items():
        if value:
            print(f"  {name:<11}{value}")
    print()
    print("\n".join(plain(line) for line in request.body.splitlines()))
    print()
    at = one.where.git_dir if isinstance(one.where, Mirror) else one.repository.url
    print(f"next: {fetch_command(at, request.head)} && git diff HEAD...FETCH_HEAD")
    if not isinstance(one.where, Mirror):
        print(f"      {request.url}")
    elif request.state == "open":
        print(f"      fencepost pull-requests merge {one.name}")


def _all() -> list[Known]:
    settings = config.read()
    with stack.opened(settings) as store, store.begin() as tx:
        known = repositories_seen(tx)
    hub = Hub(account_of(settings))
    found = [one for repository in known for one in _of(settings.home, hub, repository)]
    found.sort(key=lambda one: one.request.opened_at, reverse=True)
    numbers = [one.request.number for one in found]
    return [_named(one, numbers.count(one.request.number) == 1, known) for one in found]


def _of(home: Path, hub: Hub, repository: RepositorySeen) -> list[Known]:
    """One repository's requests; a GitHub that does not answer keeps nobody else's from view."""
    if repository.forge == LOCAL_FORGE:
        mirror = Mirror(home / "forge" / f"{repository.id}.git")
        here = requests.list_requests(mirror) if mirror.git_dir.is_dir() else []
        return [Known(repository, mirror, one) for one in here]
    try:
        at = hub.repository(repository.url)
        return [Known(repository, at, one) for one in github.ours(at)]
    except FencepostError as fault:
        print(f"warning: {repository.url}: {fault.message} ({fault.code})", file=sys.stderr)
        return []


def _named(one: Known, is_alone: bool, known: list[RepositorySeen]) -> Known:
    place = unmistakable(one.repository, known)
    number = str(one.request.number)
    return replace(one, place=place, name=number if is_alone else f"{place}:{number}")


def unmistakable(repository: RepositorySeen, known: list[RepositorySeen]) -> str:
    """A repository's name, or its id where several have that name."""
    names = [other.name for other in known]
    return repository.name if names.count(repository.name) == 1 else repository.id


def _one(named: str) -> Known:
    repository, _, digits = named.rpartition(":")
    number = digits.removeprefix("#")
    found = [
        one for one in _all()
        if str(one.request.number) == number
        and (not repository or one.repository.name == repository
             or one.repository.id.startswith(repository))
    ]  # fmt: skip
    match found:
        case [one]:
            return one
        case []:
            raise NotFound(f"no request {named}", hint="see `fencepost pull-requests list`")
        case _:
            names = ", ".join(one.name for one in found)
            raise Ambiguous(f"request {number} may be {names}", hint="name it by one of those")


def _age(request: PullRequest | Shown) -> str:
    return age(timedelta(seconds=time.time() - request.opened_at))


def _facts(one: Known) -> dict[str, object]:
    return {name: getattr(one.request, name) for name in PullRequest.__slots__}
