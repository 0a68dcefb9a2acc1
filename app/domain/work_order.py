"""What a work order allows to run, as canonical JSON bound by its digest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.domain.digest import Json, text


@dataclass(frozen=True, slots=True)
class Specification:
    """One command on one base, within a path scope, and the checks that must pass."""

    title: str
    base: str  #: branch, or a full sha for a detached base
    paths: tuple[str, ...]  #: git's `:(glob)` dialect; none: the whole repository
    command: tuple[str, ...]
    checks: tuple[str, ...]
    timeout: timedelta
    check_timeout: timedelta
    executor: str = "command/v1"

    def value(self) -> Mapping[str, Json]:
        """The canonical form; texts are brought into NFC."""
        return {
            "v": 1,
            "title": text(self.title),
            "base": text(self.base),
            "paths": [text(path) for path in self.paths],
            "command": [text(word) for word in self.command],
            "checks": [text(check) for check in self.checks],
            "timeout_s": int(self.timeout.total_seconds()),
            "check_timeout_s": int(self.check_timeout.total_seconds()),
            "executor": self.executor,
        }


def slug(title: str, limit: int = 40) -> str:
    """A title as part of a branch name: lower-case ASCII words joined by hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-")
    return words or "change"
