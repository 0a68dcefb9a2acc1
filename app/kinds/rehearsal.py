"""Trying an observation on an empty world, so that none is recorded that no tick could stage."""

from __future__ import annotations

from app.domain.digest import parse
from app.domain.errors import UnfitInput
from app.domain.identity import EntityId, WorldId
from app.domain.result import Observation, ResultRef
from app.domain.world import Fact, World
from app.kinds.base import KindOf, Staging


class _Nothing:
    """A world that knew nothing before."""

    def fact(self, entity: EntityId, component: str) -> Fact | None:
        return None

    def targets(self, source: EntityId, relation: str) -> list[EntityId]:
        return []

    def sources(self, target: EntityId, relation: str) -> list[EntityId]:
        return []


def rehearse(kind: KindOf, request: bytes, result: ResultRef, observation: Observation) -> None:
    """Stage it where nobody sees it; UnfitInput when it lacks what its facts need."""
    value = parse(request)
    if not isinstance(value, dict):
        raise UnfitInput("a request is a JSON object")
    kind.stage(World(WorldId("rehearsal"), 1, 0, _Nothing()), Staging(value, result, observation))
