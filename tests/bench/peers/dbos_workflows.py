"""DBOS: a workflow of one step, from a queue in its system database; it is resumed where it died.

Its queues are polled, once a second unless told otherwise: here ten times.
Run by the bench's own Python: `dbos_workflows.py setup|worker|submit URL REDIS SLOTS`
"""

import signal
import sys
import time

from dbos import DBOS, DBOSClient

verb, url, _, slots = sys.argv[1:5]
VERSION = "bench"


@DBOS.step()
def nothing_step(task: int) -> int:
    return task


@DBOS.workflow()
def nothing(task: int) -> int:
    return nothing_step(task)


def launch() -> None:
    DBOS(
        config={
            "name": "bench", "system_database_url": url, "application_version": VERSION,
            "executor_id": str(time.time_ns()), "log_level": "ERROR",
            "max_executor_threads": max(4, int(slots)),
        }
    )  # fmt: skip
    DBOS.launch()
    DBOS.register_queue("bench", polling_interval_sec=0.1)


if verb == "setup":
    launch()
    DBOS.destroy()
elif verb == "worker":
    launch()
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    DBOS.destroy()
else:
    client = DBOSClient(system_database_url=url)
    for line in sys.stdin:
        begun = time.perf_counter()
        for number in range(int(line)):
            client.enqueue(
                {"workflow_name": "nothing", "queue_name": "bench", "app_version": VERSION}, number
            )
        print(time.perf_counter() - begun, flush=True)
