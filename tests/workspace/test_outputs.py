"""What a step hands to the next one is read as a plain file of its own, or not at all."""

from __future__ import annotations

import json
import os

import pytest

from workers.outputs import LARGEST, Place

ANY_OBJECT = {"type": "object"}


@pytest.fixture
def place(tmp_path):
    """A run's scratch folder."""
    (tmp_path / "scratch" / "tmp").mkdir(parents=True)
    return Place(tmp_path / "scratch")


def test_an_object_is_read(place):
    """What was written in one piece arrives."""
    place.file.write_text('{"count": 3}')

    assert place.read(ANY_OBJECT).value == {"count": 3}


@pytest.mark.contract("S03")
@pytest.mark.parametrize("trap", ["pipe", "link", "linked folder", "folder", "large", "deep"])
def test_nothing_else_is(place, tmp_path, trap):
    """A pipe hangs nobody, a link leads nowhere, and what is too much is refused."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "outputs.json").write_text('{"key": "of somebody else"}')
    match trap:
        case "pipe":
            os.mkfifo(place.file)
        case "link":
            place.file.symlink_to(elsewhere / "outputs.json")
        case "linked folder":
            place.file.parent.rmdir()
            place.file.parent.symlink_to(elsewhere)
        case "folder":
            place.file.mkdir()
        case "large":
            place.file.write_text(json.dumps({"x": "y" * LARGEST}))
        case "deep":
            place.file.write_text('{"x":' + "[" * 30_000 + "]" * 30_000 + "}")

    found = place.read(ANY_OBJECT)

    assert (found.value, bool(found.problem)) == ({}, True)
