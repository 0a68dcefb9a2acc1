"""What Redis itself says: depths, who is connected, and whether it was wiped."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.retry import Retry

from app import secrecy
from app.broker.topology import CLIENT_PREFIX
from app.domain.errors import RedisUnfit, RedisUnreachable
from app.domain.identity import Kind

_MARKER = "fencepost:installation"
_OLDEST = (6, 2)
#: Seconds for which the number of slots is not asked again.
_KNOWN_FOR = 2.0
_NEWER = "use Redis 6.2 or Valkey 7.2 or newer"


@dataclass(frozen=True, slots=True)
class RedisSeen:
    """A Redis server, as it describes itself."""

    version: str
    policy: str
    appends: bool  #: every write to a file
    is_writing: bool  #: whether its last writes to disk went well
    used: int  #: bytes
    limit: int  #: bytes; 0: none


class Broker:
    """A Redis server, asked directly; one that does not answer is RedisUnreachable."""

    def __init__(self, url: str, *, role: str) -> None:
        secrecy.note("FENCEPOST_REDIS_URL", url)
        self._url = url
        self._client = redis.Redis.from_url(
            url, socket_timeout=5, socket_connect_timeout=5, client_name=CLIENT_PREFIX + role,
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
        self._slots = (-_KNOWN_FOR, 0)

    def depth(self, queue: str) -> int:
        """How many messages wait in a queue."""
        return int(cast("int", self._ask("LLEN", queue)))

    def depths(self, queues: Sequence[Kind]) -> dict[Kind, int]:
        """How many messages wait in each of these queues, asked at once."""
        pipe = self._client.pipeline(transaction=False)
        for queue in queues:
            pipe.llen(queue)
        try:
            return dict(zip(queues, map(int, pipe.execute()), strict=True))
        except (RedisError, OSError) as fault:
            raise self._unreachable(fault) from fault

    def live_slots(self) -> int:
        """The slots of all workers that are connected, as known for up to two seconds.

        Zero where the server does not tell who is connected: nothing depends on it but the size
        of a window.
        """
        known_at, slots = self._slots
        if time.monotonic() - known_at > _KNOWN_FOR:
            try:
                slots = sum(map(slots_of, self._names()))
            except RedisUnreachable as fault:
                if not isinstance(fault.__cause__, ResponseError):
                    raise
                slots = 0
            self._slots = (time.monotonic(), slots)
        return slots

    def was_wiped(self, installation: str) -> bool:
        """Whether the marker of this installation is missing."""
        return cast("bytes | None", self._ask("GET", _MARKER)) != installation.encode()

    def mark(self, installation: str) -> None:
        """Leave the marker by which a wiped Redis is known."""
        self._ask("SET", _MARKER, installation)

    def connected(self, role: str) -> int:
        """How many processes of a role hold connections; `role` is a prefix of their names."""
        return sum(name.startswith(CLIENT_PREFIX + role) for name in self._names())

    def check(self) -> None:
        """Raise RedisUnreachable or RedisUnfit unless messages are safe here (Q15)."""
        try:
            self._check()
        except RedisUnreachable as fault:
            if isinstance(fault.__cause__, ResponseError) and _is_too_old(fault.__cause__):
                raise RedisUnfit(
                    "Redis is too old: it lacks a command that every newer one has",
                    hint=_NEWER,
                ) from fault
            raise

    def _check(self) -> None:
        version = str(self._info("server").get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
            raise RedisUnfit(f"Redis {version} is too old", hint=_NEWER)
        policy = str(self._info("memory").get("maxmemory_policy", "noeviction"))
        if policy != "noeviction":
            raise RedisUnfit(
                f"Redis may evict messages: maxmemory-policy is {policy}",
                hint="set maxmemory-policy to noeviction, or give Fencepost a Redis of its own",
            )

    def seen(self) -> RedisSeen:
        """What the server says of itself; nothing of it is judged."""
        server, memory = self._info("server"), self._info("memory")
        disk = self._info("persistence")
        last = (disk.get("rdb_last_bgsave_status"), disk.get("aof_last_write_status"))
        return RedisSeen(
            version=str(server.get("valkey_version") or server.get("redis_version", "unknown")),
            policy=str(memory.get("maxmemory_policy", "noeviction")),
            appends=bool(disk.get("aof_enabled")),
            is_writing="err" not in last,
            used=int(memory.get("used_memory", 0)),
            limit=int(memory.get("maxmemory", 0)),
        )

    def close(self) -> None:
        """Give up the connections."""
        self._client.close()

    def _names(self) -> set[str]:
        """What connected clients call themselves; a process has one name for all connections."""
        listed = cast("bytes", self._ask("CLIENT", "LIST", "TYPE", "NORMAL"))
        words = listed.decode("utf-8", "replace").split()
        return {word.removeprefix("name=") for word in words if word.startswith("name=")}

    def _info(self, section: str) -> dict[str, Any]:
        try:
            return self._client.info(section)
        except (RedisError, OSError) as fault:
            raise self._unreachable(fault) from fault

    def _ask(self, *command: str | bytes) -> object:
        try:
            return self._client.execute_command(*command)  # type: ignore[no-untyped-call]  # untyped there
        except (RedisError, OSError) as fault:
            raise self._unreachable(fault) from fault

    def _unreachable(self, fault: Exception) -> RedisUnreachable:
        if isinstance(fault, AuthenticationError):
            return RedisUnreachable(
                secrecy.redacted(f"Redis refuses the login of {self._url}: {fault}"),
                hint="correct name and password in FENCEPOST_REDIS_URL",
            )
        return RedisUnreachable(
            secrecy.redacted(f"Redis does not answer at {self._url}: {fault}"),
            hint="start it, or correct FENCEPOST_REDIS_URL",
        )


def _is_too_old(fault: ResponseError) -> bool:
    """Whether the server does not even know how a client of today greets it."""
    return "unknown command" in str(fault).lower()


def worker_role(name: str, slots: int) -> str:
    """What a worker process calls itself, so that its slots can be counted."""
    return f"worker-{slots}x-{name}"


def slots_of(client: str) -> int:
    """How many slots a connected client says it has."""
    said = re.match(CLIENT_PREFIX + r"worker-(\d{1,6})x-", client)
    return int(said[1]) if said else 0


def workers_connected(redis_url: str) -> int:
    """How many worker processes are connected to this Redis."""
    broker = Broker(redis_url, role="cli")
    try:
        return broker.connected("worker")
    finally:
        broker.close()
