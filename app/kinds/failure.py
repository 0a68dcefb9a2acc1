"""What an observation says about its failure, so that two can be compared (T11)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from app.domain.digest import Json
from app.domain.failure import Signature, signature
from app.kinds.reading import items, mapping, string

#: What a line says that reports an error, in most programs.
_ERROR = re.compile(
    r"error|exception|fail|fatal|panic|cannot|can't|denied|no such|not found|refused|undefined",
    re.IGNORECASE,
)


def signature_of(step: str, observation: Mapping[str, Json]) -> tuple[Signature, str]:
    """The signature of a failed step, and what failed in its own words.

    Its line is the first that reports an error in the output of what failed; else what the worker
    saw: an exit code, a path outside the scope.
    """
    frictions = items(observation, "frictions")
    if not frictions:
        return signature(step, "command_failed", ""), "failed"
    first = frictions[0]
    code, detail = string(first, "code"), string(first, "detail")
    line = next(_error_lines(code, observation), detail)
    return signature(
        step, code, line
    ), f"{step}: {code}: {detail.splitlines()[0] if detail else ''}"


def _error_lines(code: str, observation: Mapping[str, Json]) -> Iterator[str]:
    for output in _outputs(code, observation):
        if isinstance(output, str):
            yield from (line for line in output.splitlines() if _ERROR.search(line))


def _outputs(code: str, observation: Mapping[str, Json]) -> Iterator[Json]:
    if code.startswith("check_"):
        for check in items(observation, "checks"):
            if check.get("exit") != 0:
                yield check.get("tail")
    elif code.startswith(("command_", "deadline_", "stalled")):
        yield mapping(observation, "execution").get("output")
