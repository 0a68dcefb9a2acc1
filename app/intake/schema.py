"""The JSON Schema of a work order file; docs/work-order.schema.json is this, word for word."""

from __future__ import annotations

import json
from typing import Any, Final

from app.domain.duration import PATTERN
from app.domain.extent import MOST_DEPTH, MOST_FOLDERS
from app.domain.work_order import LONGEST_TITLE, MOST_PARALLEL, RETRIED, Supersede
from app.workflow.graph import MOST_STEPS, StepKind

Schema = dict[str, Any]


def _text(longest: int = 10_000, **more: object) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": longest, **more}


def _count(most: int, **more: object) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": most, **more}


def _list(items: Schema, most: int, **more: object) -> Schema:
    return {"type": "array", "items": items, "maxItems": most, **more}


def _object(properties: Schema, **more: object) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


_DURATION: Final = _text(10, pattern=f"^{PATTERN}$", title="a duration such as 90s, 10m or 2h")
_COMMAND: Final = {
    "type": ["array", "string"], "items": {"type": "string", "maxLength": 10_000},
    "minItems": 1, "maxItems": 1_000, "minLength": 1, "maxLength": 10_000,
}  # fmt: skip
_CHECKS: Final = _list(_text(pattern="\\S", title="a shell command"), 100)
_GLOBS: Final = _list(_text(1_000), 1_000)

_RETRY: Final = _object(
    {"attempts": {"type": "integer", "minimum": 0, "maximum": 100}, "backoff": _DURATION},
    required=["attempts"],
)
_RULES: Final = _object(dict.fromkeys(RETRIED, _RETRY), description="By failure class.")

_STEP: Final = _object(
    {
        "name": _text(40, pattern="^[a-z][a-z0-9_]*$", title="a lower-case word"),
        "kind": {"type": "string", "enum": [str(kind) for kind in StepKind]},
        "needs": _list(_text(40), MOST_STEPS, description="Steps that come before it."),
        "when": _text(500, description="A condition over earlier steps, in JMESPath."),
        "command": _COMMAND | {"description": "For an author without one: the work order's."},
        "checks": _CHECKS | {"description": "For an author without any: the work order's."},
        "outputs": {"type": "object", "description": "The JSON Schema of what the step writes."},
        "retry": _RULES,
        "timeout": _DURATION | {"description": "Of a checks step; else 2h."},
    },
    required=["name", "kind"],
)
SCHEMA: Final[Schema] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Fencepost work order",
    **_object(
        {
            "title": _text(
                LONGEST_TITLE, pattern="\\S", description="Of the request; else the command."
            ),
            "repository": _text(
                4_000, description="Path, seen from the file's folder, or URL; else that folder."
            ),
            "base": _text(1_000, description="Branch or commit; else the current branch."),
            "paths": _GLOBS | {"description": "What may change, in git's glob dialect; else all."},
            "exclude": _GLOBS | {"description": "What may not change all the same."},
            "command": _COMMAND | {"description": "A list of words, or a line for the shell."},
            "agent": _object(
                {"name": _text(100), "prompt": _text(100_000)}, required=["name", "prompt"]
            ),
            "checks": _CHECKS | {"description": "Shell commands that must pass."},
            "workflow": _object(
                {
                    "concurrency": _count(MOST_STEPS, description="Steps at a time; else one."),
                    "steps": _list(_STEP, MOST_STEPS, minItems=1),
                },
                required=["steps"],
                description="Else: the author, then the pull request.",
            ),
            "budget": _object(
                {
                    "attempts": _count(1_000),
                    "wall_time": _DURATION,
                    "cost": {
                        "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000,
                        "description": "US dollars, where the agent reports them.",
                    },
                    "tokens": _count(10**12, description="Where the agent reports them."),
                    "repeated_failures": _count(1_000, description="Of one signature."),
                },
                description="What may be used up before a person is asked; else no bound.",
            ),
            "limits": _object({"timeout": _DURATION, "check_timeout": _DURATION}),
            "merge": {
                "type": ["string", "object"], "pattern": "^serial$",
                "title": "serial, or {parallel: N}",
                "properties": {"parallel": _count(MOST_PARALLEL)},
                "required": ["parallel"], "additionalProperties": False,
                "description": "How many requests on one base may be open at once; else serial.",
            },
            "request": _object(
                {
                    "draft": {"type": "boolean"},
                    "labels": _list(_text(50), 20),
                    "reviewers": _list(
                        _text(100, pattern="^(team/)?[A-Za-z0-9._-]+$", title="NAME or team/NAME"),
                        15,
                    ),
                    "supersede": {
                        "type": "string", "enum": [str(one) for one in Supersede],
                        "description": "Of an earlier attempt's open request; else keep.",
                    },
                },
                description="How the pull request looks at its forge.",
            ),
            "checkout": _object(
                {
                    "sparse": _list(
                        _text(1_000), MOST_FOLDERS,
                        description="Folders to check out, and nothing beside them; else all.",
                    ),
                    "depth": _count(MOST_DEPTH, description="Commits of history; else all."),
                    "submodules": {"type": "boolean", "description": "Fetched too; else false."},
                    "lfs": {"type": "boolean", "description": "Large files too; else false."},
                },
                description="How much of the repository a run sees.",
            ),
            "retry": _RULES,
            "second_person": {
                "type": "boolean", "description": "Its author may not approve it; else false.",
            },
        },
        anyOf=[{"required": ["command"]}, {"required": ["agent"]}, {"required": ["workflow"]}],
    ),
    "not": {"type": "object", "required": ["command", "agent"]},
}  # fmt: skip


def rendered() -> str:
    """The schema as the file that is published."""
    return json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"
