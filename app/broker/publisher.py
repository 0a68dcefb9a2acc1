"""Sending deliveries: an identity and a number, never a payload or a secret."""

from __future__ import annotations

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from app.domain.delivery import Delivery
from app.domain.errors import RedisUnreachable

#: Of the message's form.
VERSION = 1


class Publisher:
    """One process's way of putting messages into Redis."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def send(self, delivery: Delivery) -> None:
        """Send one message, once; RedisUnreachable means *unknown*: it may be there."""
        key = delivery.key
        message = {
            "world": key.world,
            "kind": key.kind,
            "activity": key.activity,
            "attempt": delivery.attempt,
            "delivery": delivery.number,
            "v": VERSION,
        }
        try:
            self._app.send_task(
                key.kind,
                kwargs=message,
                queue=key.kind,
                task_id=f"{key.activity[:16]}.{delivery.number}",
                argsrepr="()",
                kwargsrepr=repr(message),
                retry=False,
                ignore_result=True,
            )
        except (OperationalError, RedisError, OSError) as fault:
            raise RedisUnreachable(f"publishing failed, which proves nothing: {fault}") from fault
