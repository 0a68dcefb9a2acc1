"""Between the snapshot and the push nobody slips anything into the commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures import role
from fixtures.stack import Stack

from app.repository.git import attempt

#: A worker in which somebody puts another commit into the place of the one that was just made.
TAMPERED = """
import shutil, sys
from pathlib import Path
from app.events import Moment, subscribers
from app.repository.git import git
from workers.__main__ import main

HOME = Path(sys.argv.pop(1))
SOMEBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "x"), ("EMAIL", "x@y.invalid"), ("DATE", "@1 +0000"))
}

def tamper(event):
    if event.moment is not Moment.COMMITTED:
        return
    (git_dir,) = HOME.glob("checkouts/*/git")
    head = event.facts["sha"]
    blob = git("hash-object", "-w", "--stdin", git_dir=git_dir, stdin=b"slipped in")
    tree = git("mktree", git_dir=git_dir, stdin=f"100644 blob {blob}\\tslipped\\n".encode())
    other = git("commit-tree", tree, "-p", f"{head}^", "-m", "x", git_dir=git_dir, extra=SOMEBODY)
    place = git_dir / "objects" / head[:2] / head[2:]
    place.chmod(0o600)
    shutil.copyfile(git_dir / "objects" / other[:2] / other[2:], place)
    (HOME / "tampered").touch()

subscribers.append(tamper)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.contract("E03")
def test_a_commit_that_was_changed_after_the_checks_is_not_pushed(
    stack: Stack, work: str, tmp_path: Path
) -> None:
    """The last look finds another tree than the checks saw; the attempt fails without one."""
    script = tmp_path / "tampered.py"
    script.write_text(TAMPERED)
    stack.start_dispatcher()
    worker = role.start(
        ("tampered", "--slots", "1"), launcher=(str(script), str(stack.home)),
        environment=stack.environment(stack.database.worker_url), directory=stack.home,
        logs=stack.home / "logs",
    )  # fmt: skip
    stack.roles.append(worker)
    seen = stack.seen(stack.dispatch(work))

    stack.until(lambda: seen.is_over)

    assert (stack.home / "tampered").exists()
    assert (seen.outcome, stack.count("author")) == ("failed", 1)
    assert "outside_scope" in str(seen.observation())
    assert attempt("rev-parse", seen.request.branch or "", git_dir=seen.mirror.git_dir).code != 0
