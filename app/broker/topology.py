"""Celery over Redis, set up in one place, the same in every process (CELERY.md decides each line).

Messages are acknowledged when a slot takes them, and nothing is fetched ahead: the backlog stays in
Redis, its length is real, and recovery comes from leases alone.
"""

from __future__ import annotations

from celery import Celery
from kombu.entity import Exchange, Queue

from app.kinds.registry import KINDS

#: Every connection of a process carries its role, so that `CLIENT LIST` can be read.
CLIENT_PREFIX = "fencepost-"


def celery_app(redis_url: str, *, role: str) -> Celery:
    """A Celery application for one process; nothing is connected yet."""
    app = Celery("fencepost", broker=redis_url, set_as_current=False)
    app.conf.update(
        broker_transport_options=transport_options(role),
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,
        broker_pool_limit=4,
        task_queues=[Queue(kind, Exchange("fencepost"), routing_key=kind) for kind in KINDS],
        task_default_queue=next(iter(KINDS)),
        task_create_missing_queues=False,
        task_acks_late=False,
        task_reject_on_worker_lost=False,
        task_publish_retry=False,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_serializer="json",
        accept_content=["json"],
        task_send_sent_event=True,
        result_backend=None,
        worker_disable_prefetch=True,
        worker_prefetch_multiplier=1,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_eta_task_limit=10,
        worker_send_task_events=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )
    return app


def transport_options(role: str) -> dict[str, object]:
    """The Redis transport's options; the shortest time-outs of any process would win."""
    return {
        # What was read and not taken yet is nowhere in Redis: no stranger's timer can put it back,
        # and whatever lies in `unacked` ends no worker. A message lost so is replaced.
        "ack_emulation": False,
        "socket_timeout": 8,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 15,
        "retry_on_timeout": False,
        "client_name": CLIENT_PREFIX + role,
    }
