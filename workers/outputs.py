"""What a step writes for the steps after it: a JSON object in a file of its scratch folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.digest import Json, canonical, parse
from app.domain.errors import UnfitInput
from app.workflow.contract import breach

VARIABLE = "FENCEPOST_OUTPUTS"
LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Outputs:
    """What was written, or why it does not count."""

    value: Mapping[str, Json]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run writes its outputs."""

    scratch: Path

    @property
    def file(self) -> Path:
        return self.scratch.resolve() / "tmp" / "outputs.json"  # where every sandbox lets it write

    @property
    def environment(self) -> dict[str, str]:
        """How the run learns of it."""
        return {VARIABLE: str(self.file)}

    def read(self, contract: Mapping[str, Json] | None) -> Outputs:
        """Hold what was written against its contract; without a contract nothing is read."""
        if contract is None:
            return Outputs({})
        try:
            value = _object(self.file)
        except (OSError, ValueError, UnfitInput, RecursionError) as fault:
            return Outputs({}, f"{VARIABLE}: {fault}"[:500])
        problem = breach(contract, value)
        return Outputs({} if problem else value, problem)


def _object(file: Path) -> Mapping[str, Json]:
    # A link on the way, also of a folder, could lead to what only the worker may read.
    if os.path.realpath(file) != str(file.absolute()) or not file.is_file():
        raise UnfitInput("no file was written")
    with file.open("rb") as opened:
        data = opened.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UnfitInput(f"over {LARGEST} bytes")
    value = parse(canonical(json.loads(data)))
    if not isinstance(value, Mapping):
        raise UnfitInput("not a JSON object")
    return value
