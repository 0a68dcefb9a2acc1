"""Dispatches one task, as a process of its own: `dispatching.py WORLD TASK BRANCH SHA`."""

from __future__ import annotations

import os
import sys

from app.domain.identity import WorldId
from app.store.engine import open_store
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch

world, task, branch, sha = sys.argv[1:]
store = open_store(os.environ["FENCEPOST_DATABASE_URL"], name="test-dispatching")
dispatch(store, WorldId(world), LOCAL, task, Base(branch, sha))
