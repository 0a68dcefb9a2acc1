"""A hostile GitHub on loopback: real git behind it, its API before it, faults on order.

    with GitHub(tmp_path / "github") as github:        # this process
        door = github.door
    with running(tmp_path / "github") as door: ...     # its own process; door.url, same methods

    made = door.add_repository(full_name="acme/widgets")     # id, url (clone), git_dir, sha
    secret = door.add_token(login="fleet-bot")               # permissions=…, expires_in=seconds
    app = door.add_app(slug="fencepost")                     # id, client_id, private_key (PEM)
    door.install_app(app_id=app["id"], repositories=["acme/widgets"])

REST is at `github.api`, git at `github.url + "/acme/widgets.git"`, as GitHub Enterprise's.

    door.add_fault(kind="stored_then_status", method="POST", path="/repos/*/pulls", status=502)
    door.add_fault(kind="reset", path="/*/git-receive-pack", nth=2, times=3)
    door.add_fault(kind="rate_limit", method="POST", form="retry_after_403", seconds=5)
    door.add_fault(kind="late_reset", method="POST", path="/repos/*/pulls", seconds=0)
    door.release_late()                                      # now it is stored
    door.add_lag(kind="list", pattern="agent/*", looks=2)    # or seconds=3, or until lift_lags()
    door.add_rule(full_name="acme/widgets", pattern="refs/fencepost/*")

    door.merge_pull(full_name="acme/widgets", number=1)      # other people: people.py
    door.count(method="POST", path="/repos/*/pulls", stored=True)
    door.created_per_head(full_name="acme/widgets")          # the ledger: looks.py
    assert door.violations() == []                           # against GitHub's OpenAPI description

Use keyword arguments: then a test does not care where the server runs. Kinds of faults are in
fault.py, forms of rate limits in limits.py, lags in lag.py, seeded schedules in schedule.py.
Written from GitHub's documentation, not from the client: nothing here knows `app` or `workers`.
"""

from __future__ import annotations

from doubles.github.door import Door
from doubles.github.fault import Fault
from doubles.github.lag import Lag
from doubles.github.remote import DoorShut, Remote, running
from doubles.github.server import GitHub

__all__ = ["Door", "DoorShut", "Fault", "GitHub", "Lag", "Remote", "running"]
