"""How others open a pull request "exactly once": four strategies, under the same schedules as ours.

Each is a job of a task queue: whatever it raises, and whatever kills its worker, it is done again,
at most six times; a worker that is frozen is taken for dead, and comes back beside the next one.
What was opened is recorded by the last line of the job.
"""

from __future__ import annotations

import base64
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import github
from doubles.github import Remote
from doubles.github.schedule import schedule
from github.GithubRetry import GithubRetry
from schedules.plan import Back, Fate, Interruption, plan
from schedules.run import PATIENCE, Killed
from schedules.site import LOGIN

from app.events import Moment

MOST_TRIES = 6
_PAUSE = 0.1  #: seconds before the second try; twice as long before each that follows
_TIMEOUT = 5
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Bot"), ("EMAIL", "bot@example.invalid"))
}


class Hasty(GithubRetry):
    """PyGithub's own rule of what is repeated, without its pauses."""

    def sleep(self, response: Any = None) -> None:
        time.sleep(0.02)


@dataclass
class Job:
    """One candidate that is to become one request."""

    door: Remote
    token: str
    name: str  #: of the repository
    seed: int
    folder: Path
    base: str
    candidate: str = ""  #: its commit
    recorded: int | None = None
    interruptions: list[Interruption] = field(default_factory=list)
    counts: Counter[Moment] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    copies: list[Copy] = field(default_factory=list)

    @property
    def branch(self) -> str:
        return f"bot/{self.seed}"

    def push(self, branch: str) -> None:
        """Push the candidate; a branch that has it already is no fault."""
        proof = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        access = {
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {proof}",
        }  # fmt: skip
        url = f"{self.door.url}/{self.name}.git"
        with self.lock:
            self.candidate = self.candidate or self._commit(url, access)
        self._git("push", "--quiet", url, f"{self.candidate}:refs/heads/{branch}", **access)

    def _commit(self, url: str, access: Mapping[str, str]) -> str:
        self._git("init", "--quiet", "--bare", str(self.folder))
        self._git("fetch", "--quiet", "--depth=1", url, self.base, **access)
        tree = self._git("rev-parse", f"{self.base}^{{tree}}")
        return self._git("commit-tree", tree, "-p", self.base, "-m", "Do it")

    def library(self, retry: GithubRetry | None) -> Any:
        """The repository by PyGithub."""
        hub = github.Github(
            auth=github.Auth.Token(self.token), base_url=self.door.api, retry=retry,
            timeout=_TIMEOUT, seconds_between_requests=0, seconds_between_writes=0,
        )  # fmt: skip
        return hub.get_repo(self.name, lazy=True)

    def create(self, branch: str, retry: GithubRetry | None = None) -> int:
        """Open a request, by the library."""
        self.at(Moment.CALLED)
        body = f"By a bot.\n\n<!-- job {self.seed} -->"
        made = self.library(retry).create_pull(base="main", head=branch, title="Do it", body=body)
        self.at(Moment.OPENED)
        return int(made.number)

    def open_one(self, branch: str) -> int | None:
        """The open request on a branch."""
        owner = self.name.partition("/")[0]
        found = self.library(None).get_pulls(state="open", head=f"{owner}:{branch}")
        number = next((int(one.number) for one in found), None)
        self.at(Moment.DECIDED)
        return number

    def at(self, moment: Moment) -> None:
        """A moment at which this job's worker may be killed or frozen."""
        copy = threading.current_thread()
        assert isinstance(copy, Copy)
        self.thaw(Back.RACING, besides=copy)
        with self.lock:
            self.counts[moment] += 1
            now = (moment, self.counts[moment])
            met = [one for one in self.interruptions if (one.moment, one.nth) == now]
        for one in met:
            if one.fate is Fate.KILLED:
                raise Killed
            if one.fate is Fate.FROZEN:
                copy.freeze(one.back)

    def thaw(self, *which: Back, besides: Copy | None = None) -> None:
        with self.lock:
            those = [one for one in self.copies if one.back in which and one is not besides]
            for one in those:
                one.back = None
                one.go.set()

    def _git(self, *words: str, **extra: str) -> str:
        done = subprocess.run(
            ["git", *(() if words[0] == "init" else ("--git-dir", str(self.folder))), *words],
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0",
                 "GIT_CONFIG_NOSYSTEM": "1", **_WHO, **extra},
            text=True, capture_output=True, timeout=30, check=True,
        )  # fmt: skip
        return done.stdout.strip()


class Copy(threading.Thread):
    """One try of a job, by one worker."""

    def __init__(self, job: Job, strategy: Strategy, number: int) -> None:
        super().__init__(daemon=True)
        self.job, self.strategy, self.number = job, strategy, number
        self.stands, self.go = threading.Event(), threading.Event()
        self.back: Back | None = None
        self.is_done = False

    def run(self) -> None:
        try:
            self.job.recorded = self.strategy(self.job, self.number)
            self.is_done = True
        except (Killed, Exception):  # noqa: BLE001  the queue does it again
            pass
        finally:
            self.stands.set()

    def freeze(self, back: Back) -> None:
        self.go.clear()
        self.back = back
        self.stands.set()
        self.go.wait(120)


Strategy = Callable[[Job, int], int]


def library_retry(job: Job, number: int) -> int:
    """Push, and create with the library's own retries."""
    job.push(job.branch)
    return job.create(job.branch, Hasty(total=10))


def list_then_create(job: Job, number: int) -> int:
    """Look for an open request on the branch first; else create."""
    job.push(job.branch)
    return job.open_one(job.branch) or job.create(job.branch)


def create_then_adopt(job: Job, number: int) -> int:
    """Create; where that is refused as existing already, take the one that is open."""
    job.push(job.branch)
    try:
        return job.create(job.branch)
    except github.GithubException as fault:
        if fault.status != 422 or "already exists" not in str(fault.data):
            raise
        known = job.open_one(job.branch)
        if known is None:
            raise
        return known


def branch_per_try(job: Job, number: int) -> int:
    """A new branch for each try, so that none is in the way of another."""
    branch = f"{job.branch}-{number}"
    job.push(branch)
    return job.create(branch)


STRATEGIES: Mapping[str, Strategy] = {
    "the library's default retry": library_retry,
    "list open ones, then create": list_then_create,
    "create, adopt on 422": create_then_adopt,
    "a new branch per try": branch_per_try,
}


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one candidate, counted at the server."""

    ours: int  #: requests that were opened by us
    unknown: int  #: of them, open or merged, and named by no record
    is_recorded: bool
    is_held: bool = False  #: a person is asked
    is_ended: bool = False  #: a person or a cancel ended it, or the forge refused it for good


def came_of(door: Remote, token: str, folder: Path, strategy: Strategy, seed: int) -> Came:
    """Carry a job to its end under a seed's schedule, and count."""
    name = f"acme/n{strategy.__name__.replace('_', '-')}-{seed}"
    made = door.add_repository(full_name=name)
    job = Job(door, token, name, seed, folder / name.replace("/", "-"), made["sha"],
              interruptions=list(plan(seed).interruptions))  # fmt: skip
    for step in schedule(seed, name, PATIENCE):
        getattr(door, step.door)(**step.arguments)
    for number in range(1, MOST_TRIES + 1):
        copy = Copy(job, strategy, number)
        job.copies.append(copy)
        copy.start()
        copy.stands.wait(120)
        if copy.is_done:
            break
        time.sleep(_PAUSE * 2 ** (number - 1))
    while any(one.is_alive() for one in job.copies):
        job.thaw(*Back)
        time.sleep(0.01)
    time.sleep(3 * PATIENCE.late)  # what is stored late is there now
    pulls = [one for one in door.pulls(full_name=name) if one["by"] == LOGIN]
    unknown = [one for one in pulls if one["state"] != "closed" and one["number"] != job.recorded]
    return Came(len(pulls), len(unknown), job.recorded is not None)
