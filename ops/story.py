"""The demo: the main job on a real library, three things broken on purpose, and what is left.

Nothing here is scripted output: every number is read back from the database or the remote.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import wreck
from real_library import make_repository

CLONE = Path(__file__).resolve().parents[1]
HOME = CLONE / ".fencepost"
#: Seconds; short, so that one need not wait long to see a recovery.
LEASE = 6
#: Few, so that work has to wait.
SLOTS = 2
RUFF = "ruff format --quiet --line-length 79 src"
CHECK = "PYTHONPATH=src python -m pytest -q -p no:cacheprovider tests/test_lists.py"


def main() -> int:
    """Tell the story; exit 0 only if every part of it came true."""
    os.environ |= {
        "FENCEPOST_HOME": str(HOME),
        "FENCEPOST_LEASE": str(LEASE),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="fencepost-demo-"))
    fencepost("down", quiet=True)
    try:
        library = make_repository(HOME / "sources", HOME / "library" / "humanize")
        fencepost("up", "--detach", "--slots", str(SLOTS))
        with wreck.Scene.of(HOME) as scene:
            _main_job(library)
            _kill_the_worker(scene, library, scratch)
            _flush_redis(scene, library, scratch)
            _raise_a_zombie(scene, library)
            _counts(scene)
        _verify()
    finally:
        fencepost("down", quiet=True)
        shutil.rmtree(scratch, ignore_errors=True)
    say(f"All of it took {time.monotonic() - began:.0f} s. Yours: see README.md.")
    return 0


def _main_job(library: Path) -> None:
    chapter("1. The main job: a codemod over a real library, its own tests as the check")
    fencepost(
        "run", "--repo", str(library), "--path", "src/**", "--check", CHECK, "--", *RUFF.split()
    )


def _kill_the_worker(scene: wreck.Scene, library: Path, scratch: Path) -> None:
    chapter("2. kill -9 of the worker, in the middle of a run")
    ran = scratch / "killed"
    attempt = detached(library, f"echo ran >> {ran}; sleep 4; {RUFF}")
    waited(ran.exists, "the command runs")
    pid = scene.worker_pid()
    os.kill(pid, signal.SIGKILL)
    killed_at = time.time()
    say(f"killed worker {pid}; its lease of {LEASE} s must run out before anybody else may act")
    reclaimed = scene.reclaimed_at(attempt, fence=2)
    say(f"claimed again {reclaimed - killed_at:.1f} s after the kill, under fence 2")
    scene.expect(attempt, "done")
    runs = len(ran.read_text().splitlines())
    say(
        f"the command was started {runs} times, and ended in {scene.requests(attempt)} pull request"
    )


def _flush_redis(scene: wreck.Scene, library: Path, scratch: Path) -> None:
    chapter("3. FLUSHALL with work queued")
    ran = scratch / "flushed"
    shell = f"echo ran >> {ran}; sleep 6; {RUFF}"
    with ThreadPoolExecutor() as pool:
        titles = [f"Flushed {number}" for number in range(2 * SLOTS + 1)]
        attempts = list(pool.map(lambda title: detached(library, shell, title), titles))
    waited(lambda: scene.queued() > 0, "messages wait in Redis")
    say(f"{scene.queued()} messages wait in Redis; FLUSHALL")
    scene.flush()
    say(f"{scene.queued()} messages wait in Redis now")
    for attempt in attempts:
        scene.expect(attempt, "done")
    runs = len(ran.read_text().splitlines())
    say(f"all {len(attempts)} attempts are done; their command was started {runs} times")


def _raise_a_zombie(scene: wreck.Scene, library: Path) -> None:
    chapter("4. A zombie: a worker that wakes up after its lease was given away")
    with scene.worker_frozen():
        attempt = detached(library, RUFF, title="Zombie")
        zombie = scene.zombie(attempt)
    say(f"the zombie holds fence {zombie.claim.fence} and sleeps past its lease")
    scene.expect(attempt, "done")
    say("another worker took over and published; now the zombie wakes up")
    say(f"  its INSERT:  {scene.refused_insert(zombie)}")
    say(f"  its git push: {scene.refused_push(zombie)}")


def _counts(scene: wreck.Scene) -> None:
    chapter("5. What is left, read back from the database and the remote")
    for name, count in scene.counts().items():
        say(f"{count:>6}  {name}")


def _verify() -> None:
    chapter("6. The proof: every law, checked on the rows and at the remote")
    fencepost("verify")


def detached(library: Path, shell: str, title: str = "Reformat") -> str:
    """Dispatch a shell command and return its attempt."""
    said = fencepost(
        "run", "--detach", "--title", title, "--repo", str(library), "--path", "src/**",
        "--", "sh", "-c", shell, quiet=True,
    )  # fmt: skip
    return said.split()[-1]


def fencepost(*arguments: str, quiet: bool = False) -> str:
    """Type a command, as a reader would; a failure ends the demo."""
    if not quiet:
        say("$ fencepost " + shlex.join(arguments))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", *arguments],
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.PIPE if quiet else None,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0 and arguments[0] != "down":
        sys.exit(f"fencepost {arguments[0]} ended with {done.returncode}\n{done.stderr or ''}")
    return done.stdout or ""


def waited(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so; a minute at most."""
    wreck.until(condition, what)


def chapter(title: str) -> None:
    """A heading."""
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}", flush=True)


def say(line: str) -> None:
    """One line of the story."""
    print(f"   {line}", flush=True)


def _typed(word: str) -> str:
    return (
        word if word.replace("/", "").replace("-", "").replace(".", "").isalnum() else f"'{word}'"
    )


if __name__ == "__main__":
    sys.exit(main())
