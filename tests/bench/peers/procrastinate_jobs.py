"""Procrastinate: a job is a row, taken by its functions in Postgres; LISTEN wakes the worker.

Run by the bench's own Python: `procrastinate_jobs.py setup|worker|submit URL REDIS SLOTS`
"""

import asyncio
import logging
import sys
import time

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

verb, url, _, slots = sys.argv[1:5]
logging.basicConfig(level=logging.ERROR)


def app_over(connector: object) -> tuple[App, object]:
    """The application and its one task."""
    app = App(connector=connector)

    @app.task(name="nothing", queue="bench")
    async def nothing(task: int) -> None:
        pass

    return app, nothing


async def work() -> None:
    app, _ = app_over(PsycopgConnector(conninfo=url, min_size=1, max_size=int(slots) + 2))
    async with app.open_async():
        await app.run_worker_async(queues=["bench"], concurrency=int(slots))


if verb == "worker":
    asyncio.run(work())
else:
    app, nothing = app_over(SyncPsycopgConnector(conninfo=url, min_size=1, max_size=2))
    with app.open():
        if verb == "setup":
            app.schema_manager.apply_schema()
        else:
            for line in sys.stdin:
                begun = time.perf_counter()
                for number in range(int(line)):
                    nothing.defer(task=number)
                print(time.perf_counter() - begun, flush=True)
