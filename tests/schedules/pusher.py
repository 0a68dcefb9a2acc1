"""A process that pushes operations as a worker does; one line of JSON asks, one answers.

`python -P pusher.py FOLDER API URL`, the token in PUSHER_TOKEN.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from app.config import Secret
from app.domain.digest import canonical
from app.domain.errors import PushLost, PushRefused, RemoteUnreadable
from app.domain.identity import (
    ActivityId,
    ActivityKey,
    Claim,
    ClaimToken,
    Fence,
    Kind,
    OperationId,
    WorldId,
)
from app.domain.operation import Mark, Tip, ref_of
from app.github.access import GitAccess
from app.github.account import Account
from app.github.address import address_of
from app.github.credential import credential_of
from app.repository.git import git
from app.repository.remote import Remote, reach
from workers.workspace.commit import Author, commit
from workers.workspace.operation_ref import push_mark, push_result, read, write_mark

WHO = Author("Fencepost", "worker@fencepost.invalid", 1_700_000_000)
KEY = ActivityKey(WorldId("w1"), Kind("missions.author"), ActivityId("ab" * 32))
OBSERVATION = canonical({"green": True})


def main() -> None:
    folder, api, url = Path(sys.argv[1]), *sys.argv[2:]
    account = Account(api, Secret("TOKEN", os.environ["PUSHER_TOKEN"]))
    address = address_of(url, account)
    assert address is not None
    remote = Remote(url, GitAccess(address, credential_of(account, address)))
    git("init", "--quiet", "--bare", str(folder))
    reach(remote, "fetch", "--quiet", "--", url, "main:refs/base", git_dir=folder)
    base = git("rev-parse", "refs/base", git_dir=folder)
    candidate = commit(folder, git("rev-parse", f"{base}^{{tree}}", git_dir=folder), [base],
                       "The candidate", WHO)  # fmt: skip
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(folder, remote, candidate, json.loads(line))), flush=True)


def answer(folder: Path, remote: Remote, candidate: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Push, and look afterwards, as whoever pushed does whatever came of it."""
    operation = OperationId(asked["operation"])
    mark = Mark(asked["mark"])
    claim = Claim(KEY, Fence(asked["fence"]), ClaimToken(asked["token"]))
    over = tip(folder, remote, operation)
    is_result = mark is Mark.RESULT
    sha = write_mark(
        folder, operation, claim, mark, over, WHO,
        observation=OBSERVATION if is_result else None,
        candidate=candidate if is_result else None,
    )  # fmt: skip
    verdict = "done"
    try:
        if is_result:
            branch = asked["branch"]
            push_result(folder, remote, ref_of(operation), sha, over, branch, candidate)
        else:
            push_mark(folder, remote, ref_of(operation), sha, over)
    except (PushLost, PushRefused, RemoteUnreadable) as fault:
        verdict = type(fault).__name__
    return {
        "sha": sha, "verdict": verdict, "seen": tip(folder, remote, operation),
        "candidate": candidate,
    }  # fmt: skip


def tip(folder: Path, remote: Remote, operation: OperationId) -> str | None:
    """Where the operation is."""
    found = read(folder, remote, operation)
    return found.sha if isinstance(found, Tip) else None


if __name__ == "__main__":
    main()
