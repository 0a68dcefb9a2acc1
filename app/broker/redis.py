"""What Redis itself says: depths, who is connected, and whether it was wiped."""

from __future__ import annotations

from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from app.broker.topology import CLIENT_PREFIX
from app.domain.errors import RedisUnfit, RedisUnreachable
from app.domain.redaction import without_password

_MARKER = "fencepost:installation"
_OLDEST = (6, 2)


class Broker:
    """A Redis server, asked directly; one that does not answer is RedisUnreachable."""

    def __init__(self, url: str, *, role: str) -> None:
        self._url = url
        self._client = redis.Redis.from_url(
            url, socket_timeout=5, socket_connect_timeout=5, client_name=CLIENT_PREFIX + role,
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip

    def depth(self, queue: str) -> int:
        """How many messages wait in a queue."""
        return int(cast("int", self._ask("LLEN", queue)))

    def was_wiped(self, installation: str) -> bool:
        """Whether the marker of this installation is missing."""
        return cast("bytes | None", self._ask("GET", _MARKER)) != installation.encode()

    def mark(self, installation: str) -> None:
        """Leave the marker by which a wiped Redis is known."""
        self._ask("SET", _MARKER, installation)

    def connected(self, role: str) -> int:
        """How many processes of a role hold connections; `role` is a prefix of their names."""
        listed = cast("bytes", self._ask("CLIENT", "LIST", "TYPE", "NORMAL"))
        wanted = f"name={CLIENT_PREFIX}{role}"
        words = listed.decode("utf-8", "replace").split()
        return len({word for word in words if word.startswith(wanted)})

    def check(self) -> None:
        """Raise RedisUnreachable or RedisUnfit unless messages are safe here (Q15)."""
        version = str(self._info("server").get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
            raise RedisUnfit(
                f"Redis {version} is too old", hint="use Redis 6.2 or Valkey 7.2 or newer"
            )
        policy = str(self._info("memory").get("maxmemory_policy", "noeviction"))
        if policy != "noeviction":
            raise RedisUnfit(
                f"Redis may evict messages: maxmemory-policy is {policy}",
                hint="set maxmemory-policy to noeviction, or give Fencepost a Redis of its own",
            )

    def close(self) -> None:
        """Give up the connections."""
        self._client.close()

    def _info(self, section: str) -> dict[str, Any]:
        try:
            return self._client.info(section)
        except (RedisError, OSError) as fault:
            raise self._unreachable(fault) from fault

    def _ask(self, *command: str) -> object:
        try:
            return self._client.execute_command(*command)  # type: ignore[no-untyped-call]  # untyped there
        except (RedisError, OSError) as fault:
            raise self._unreachable(fault) from fault

    def _unreachable(self, fault: Exception) -> RedisUnreachable:
        return RedisUnreachable(
            without_password(f"Redis does not answer at {self._url}: {fault}"),
            hint="start it, or correct FENCEPOST_REDIS_URL",
        )


def workers_connected(redis_url: str) -> int:
    """How many worker processes are connected to this Redis."""
    broker = Broker(redis_url, role="cli")
    try:
        return broker.connected("worker")
    finally:
        broker.close()
