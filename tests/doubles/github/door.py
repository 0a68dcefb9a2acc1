"""The control door: what tests set up, what other people do, which faults strike, what was seen.

Every public method takes and gives what JSON can hold. In the server's own process call it on
`github.door`; from elsewhere POST its arguments to `/_control/NAME`, or use `Remote`, which has the
same methods.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from doubles.github.deeds import Deeds
from doubles.github.exchange import Answer, Refused, Request
from doubles.github.looks import Looks
from doubles.github.people import People
from doubles.github.setup import Setup
from doubles.github.trouble import Trouble

if TYPE_CHECKING:
    from doubles.github.server import GitHub


class Door(Setup, People, Deeds, Trouble, Looks):
    """Everything a test may do, under one name."""

    def __init__(self, github: GitHub) -> None:
        self.github = github

    @property
    def url(self) -> str:
        return self.github.url

    @property
    def api(self) -> str:
        return self.github.api

    def answer(self, request: Request, name: str) -> Answer:
        """Call a method for another process; 400 with the reason when it fails."""
        method = None if name.startswith("_") else getattr(self, name, None)
        if method is None or name == "answer":
            return Answer(404, {"error": f"no door of the name {name}"})
        try:
            return Answer(200, {"value": method(**request.fields())})
        except Refused as refused:
            return Answer(400, {"error": str(refused), "answer": refused.answer.body})
        except Exception:  # noqa: BLE001  the caller is another process: it gets the whole story
            return Answer(400, {"error": traceback.format_exc()})
