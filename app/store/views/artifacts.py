"""What runs left to keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from app.domain.errors import NotFound
from app.store.engine import Tx
from app.store.schema import artifacts


@dataclass(frozen=True, slots=True)
class ArtifactSeen:
    """One artifact, without its bytes."""

    activity: str
    fence: int
    name: str
    media_type: str
    size: int  #: bytes
    digest: str
    at: datetime


def artifacts_of(tx: Tx, world: str, attempt: str) -> list[ArtifactSeen]:
    """Every artifact of an attempt, oldest first."""
    rows = tx.execute(
        select(
            artifacts.c.activity_id, artifacts.c.fence, artifacts.c.name, artifacts.c.media_type,
            func.octet_length(artifacts.c.bytes), artifacts.c.digest, artifacts.c.recorded_at,
        )
        .where(artifacts.c.world_id == world, artifacts.c.attempt_id == attempt)
        .order_by(artifacts.c.recorded_at)
    )  # fmt: skip
    return [ArtifactSeen(*row) for row in rows]


def artifact_bytes(tx: Tx, world: str, attempt: str, name: str) -> bytes:
    """The newest artifact of a name; NotFound."""
    data = tx.execute(
        select(artifacts.c.bytes)
        .where(artifacts.c.world_id == world, artifacts.c.attempt_id == attempt)
        .where(artifacts.c.name == name)
        .order_by(artifacts.c.recorded_at.desc()).limit(1)
    ).scalar()  # fmt: skip
    if data is None:
        raise NotFound(
            f"attempt {attempt} kept no {name}",
            hint=f"`fencepost attempts show {attempt} --json` lists what it kept",
        )
    return bytes(data)
