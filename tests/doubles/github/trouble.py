"""Faults, lags and what webhooks do wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doubles.github.fault import Fault
from doubles.github.lag import Lag

if TYPE_CHECKING:
    from doubles.github.server import GitHub


class Trouble:
    """Everything that can go wrong, on order."""

    github: GitHub

    def add_fault(self, kind: str, **more: Any) -> None:
        """Spoil the nth matching request from now; the fields are those of `Fault`."""
        self.github.faults.add(Fault(kind, **more))

    def clear_faults(self) -> None:
        """No faults and no deeds; what waits to be stored late still waits."""
        self.github.faults.clear()
        self.github.deeds.clear()

    def faults(self) -> list[dict[str, Any]]:
        """Each fault with `met` and `used`."""
        return self.github.faults.listed()

    def add_deed(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        method: str = "*",
        path: str = "*",
        nth: int = 1,
        when: str = "before",
    ) -> None:
        """Have somebody do something (any method of the door) before or after the nth request."""
        arms = Fault("deed", method=method, path=path, nth=nth)
        arms.where, arms.form = when, name
        self.github.deeds.append((arms, arguments or {}))

    def release_late(self) -> list[int]:
        """Carry out what `late_…` faults held; the statuses that nobody hears of."""
        return [answer.status for answer in self.github.faults.release_late()]

    def held_late(self) -> int:
        """How many requests `late_…` faults hold."""
        return self.github.faults.held()

    def add_lag(
        self,
        kind: str,
        pattern: str = "*",
        looks: int | None = None,
        seconds: float | None = None,
        form: str = "invalid",
        full_name: str = "*",
    ) -> None:
        """Hide what is born from now on; without looks and seconds until it is lifted."""
        self.github.lags.add(Lag(kind, pattern, full_name, looks, seconds, form))

    def lift_lags(self, kind: str | None = None) -> None:
        """Show everything."""
        self.github.lags.lift(kind)

    def skip_deliveries(self, count: int = 1, event: str = "*") -> None:
        """Never send the next webhook deliveries of the kind."""
        self.github.webhooks.skip(count, event)

    def repeat_deliveries(self, copies: int) -> None:
        """Send each of the following so many times, with one id."""
        self.github.webhooks.repeat(copies)

    def redeliver(self, delivery_id: str) -> None:
        """Send one again with the same id."""
        self.github.webhooks.again(delivery_id)

    def emit(self, full_name: str, event: str, payload: dict[str, Any]) -> None:
        """Send an event of one's own making."""
        repo = self.github.world.find(full_name)
        assert repo is not None
        self.github.webhooks.emit(repo.id, event, payload)

    def drain_deliveries(self) -> None:
        """Return when every delivery in the line was sent."""
        self.github.webhooks.drain()
