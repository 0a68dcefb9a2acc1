"""What may run at once: a world's limits, a repository's, and the writers of one base (O08)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.digest import Json
from app.domain.errors import BadInput

#: The most that a setting may allow; more attempts than this at work mean a mistake.
MOST = 10_000


#: What steps are called that wait for others, and are not at work meanwhile.
NOT_AT_WORK = ("gate", "forge.checks")


class Bound(StrEnum):
    """Why a step that is ready does not begin."""

    WORLD = "world"  #: as many attempts of the world are at work as may be
    REPOSITORY = "repository"  #: likewise of the repository
    MERGE = "merge"  #: the base has as many writers as their merge strategies suffer


class Left(StrEnum):
    """Why an attempt is no longer a writer of its base."""

    ENDED = "ended"  #: without an open request
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many attempts may be at work at once; None: no limit."""

    world: int | None = None
    repository: int | None = None  #: in each repository of the world


@dataclass(frozen=True, slots=True)
class Load:
    """What is at work beside the attempt that asks."""

    world: int
    repository: int
    writers: Sequence[int]  #: of the base: how many each suffers, itself included


def limits_of(settings: Mapping[str, Json]) -> Limits:
    """The limits that a world's settings declare; BadInput for what is none."""
    return Limits(_limit(settings, "concurrency"), _limit(settings, "repository_concurrency"))


def bound_of(specification: Mapping[str, Json]) -> int:
    """How many writers on its base a work order suffers, itself included: 1 is `serial`."""
    merge = specification.get("merge")
    bound = merge.get("bound") if isinstance(merge, Mapping) else None
    return bound if isinstance(bound, int) and bound >= 1 else 1


def waits_for(
    limits: Limits, load: Load, *, is_at_work: bool, writes: int | None, overtakes: bool = False
) -> Bound | None:
    """The bound that holds a step back; None: it may begin.

    An attempt that is at work keeps its place. `writes`: the own bound of an attempt that is about
    to become a writer of the base; everybody's bound holds, so the smallest one counts.
    `overtakes`: it would do so before another that has waited longer, which is not done.
    """
    if writes is not None and (overtakes or len(load.writers) >= min((writes, *load.writers))):
        return Bound.MERGE
    if is_at_work:
        return None
    if limits.repository is not None and load.repository >= limits.repository:
        return Bound.REPOSITORY
    if limits.world is not None and load.world >= limits.world:
        return Bound.WORLD
    return None


def _limit(settings: Mapping[str, Json], name: str) -> int | None:
    value = settings.get(name)
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= MOST:
        raise BadInput(
            f"{name}: a number from 1 to {MOST}, not {value}",
            hint="to let nothing new start, pause: see `fencepost queues`",
        )
    return value
