"""The mutation cache: a batch is staged whole or not at all (A11)."""

import pytest

from app.domain.identity import WorldId
from app.domain.world import Fact, World


class Empty:
    """A world that knew nothing before."""

    def fact(self, entity, component):
        return None

    def targets(self, source, relation):
        return []

    def sources(self, target, relation):
        return []


def a_world():
    return World(WorldId("w"), tick=1, sequence=10, before=Empty())


def stage_a_prefix(world, target):
    """Stage two entities, of which the hook refuses the second."""
    with world.all_or_none():
        first = world.spawn()
        world.put(first, "Prefix", 1, {})
        world.relate(first, "ProducedBy", target)
        world.spawn()


def stage_and_fail(world, error):
    """Stage an entity, then fail."""
    with world.all_or_none():
        world.spawn()
        raise error


@pytest.mark.contract("A11")
def test_a_failing_hook_restores_sequence_and_mutations():
    """No processor sees a prefix, in this tick or a later one."""
    world = a_world()
    kept = world.spawn()
    world.put(kept, "Kept", 1, {})

    def fail(entity):
        if entity == kept + 2:
            raise RuntimeError("hook")

    world.on_spawn.append(fail)
    with pytest.raises(RuntimeError):
        stage_a_prefix(world, kept)

    assert world.sequence == kept
    assert world.added.entities == [kept]
    assert world.added.facts == [Fact(kept, "Kept", 1, {})]
    assert world.added.relations == []
    assert world.fact(kept + 1, "Prefix") is None


@pytest.mark.contract("A11")
def test_a_cancelled_staging_restores_too():
    """An interruption is no different from a failure."""
    world = a_world()

    with pytest.raises(KeyboardInterrupt):
        stage_and_fail(world, KeyboardInterrupt())

    assert (world.sequence, world.added.entities) == (10, [])


def test_after_a_restore_the_same_ids_are_given_again():
    """The sequence is part of what is restored."""
    world = a_world()
    with pytest.raises(ValueError, match="no"):
        stage_and_fail(world, ValueError("no"))

    with world.all_or_none():
        found = world.spawn()

    assert found == 11


def test_this_ticks_facts_and_edges_are_seen_inside_it():
    """Processors decide on the batch that was staged just now."""
    world = a_world()
    a, b = world.spawn(), world.spawn()

    world.put(a, "C", 1, {"x": 1})
    world.relate(a, "R", b)

    assert world.fact(a, "C").value == {"x": 1}
    assert (world.targets(a, "R"), world.sources(b, "R")) == ([b], [a])
