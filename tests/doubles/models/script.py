"""What a model does, a turn at a time; a script is a list of turns.

A server keeps no place in its script: how many tool answers a conversation holds says which turn
is next. So an agent that is killed and begun anew meets the same model again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """Words; the conversation ends with them."""

    text: str = "Done."


@dataclass(frozen=True, slots=True)
class Reason:
    """A thought, and then words that end the conversation."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """A shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class Write:
    """A new file, by the agent's own tool for that."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Call:
    """Any tool, by its name; also one that the agent does not have."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP status in place of an answer."""

    status: int
    message: str = "as the script says"


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class Junk:
    """An answer with events that no version knows, then words."""


@dataclass(frozen=True, slots=True)
class Hang:
    """An answer that begins and does not go on, until the event is set."""

    until: threading.Event = field(default_factory=threading.Event)


Answer: TypeAlias = Say | Reason | Run | Write | Call | Fail | Cut | Junk | Hang
