"""The kinds of activity there are."""

from __future__ import annotations

from app.domain.identity import Kind
from app.kinds.author import AUTHOR
from app.kinds.base import KindOf
from app.kinds.command import COMMAND
from app.kinds.pull_request import PULL_REQUEST

KINDS: dict[Kind, KindOf] = {kind.name: kind for kind in (AUTHOR, COMMAND, PULL_REQUEST)}
