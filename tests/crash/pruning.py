"""Prunes every local remote in pushes of two refs, as a process of its own: `pruning.py HOME`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from app.domain.pruning import RETENTION
from app.github.account import Account
from app.github.hub import Hub
from app.operations.place import desk, places
from app.operations.prune import prune
from app.store.engine import open_store
from app.store.views.fleet import repositories_seen

(home,) = sys.argv[1:]
store = open_store(os.environ["FENCEPOST_DATABASE_URL"], name="test-pruning")
with store.begin() as tx:
    known = places(repositories_seen(tx))
for place in known:
    with desk(place, Path(home), Hub(Account("https://github.invalid"))) as at:
        if at is not None:
            list(prune(store, place, at, RETENTION, batch=2))
