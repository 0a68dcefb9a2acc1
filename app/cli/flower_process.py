"""Flower itself, as the process that `fencepost flower` starts: ours in its name and its limits."""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

from flower.options import options
from flower.views.monitor import Metrics

from app.broker.topology import celery_app
from app.parentage import watch_parent

#: What a line of the tasks page shows: the activity's kind, whose it is, and what became of it.
_COLUMNS = "name,kwargs,state,received,runtime,worker,uuid"


def serve(arguments: list[str]) -> None:
    """Be Flower; the Redis that it looks at is in the environment, where nobody else reads it."""
    watch_parent()
    app = celery_app(os.environ["FENCEPOST_REDIS_URL"], role="flower")
    # It asks much at once, two connections a question: in a small pool they wait for ever.
    app.conf.update(broker_pool_limit=64, broker_pool_acquire_timeout=5)
    options.format_task = readable
    Metrics.prepare = _ask_who_it_is  # Flower shows its metrics to everybody, whatever it is told
    app.start(
        ["flower", *arguments, "--purge_offline_workers=120", "--persistent=false",
         "--unix_socket=", f"--tasks_columns={_COLUMNS}"]
    )  # fmt: skip


def readable(task: Any) -> Any:
    """A task whose arguments are words; Flower shows them, and searches what was sent."""
    try:
        sent = ast.literal_eval(task.kwargs)
        task.kwargs = "attempt {attempt}, delivery {delivery}, activity {activity}".format(**sent)
    except (TypeError, ValueError, SyntaxError, LookupError):
        pass  # somebody else's task: as it is
    return task


def _ask_who_it_is(handler: Any) -> None:
    """As on every other page: 401, unless whoever asks may see it."""
    if not handler.get_current_user():
        handler.send_error(401)


if __name__ == "__main__":
    serve(sys.argv[1:])
