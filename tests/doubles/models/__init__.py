"""Model servers on loopback that do as a script says, in the words of each vendor's API."""

from doubles.models.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Hang,
    Junk,
    Reason,
    Run,
    Say,
    Write,
)
from doubles.models.server import ModelServer

__all__ = [
    "Answer", "Call", "Cut", "Fail", "Hang", "Junk", "ModelServer", "Reason", "Run", "Say", "Write",
]  # fmt: skip
