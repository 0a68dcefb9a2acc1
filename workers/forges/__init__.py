"""Forges by name. A new one is a file here, an entry below, and a name in its conformance suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workers.forges.base import Forge, Place
from workers.forges.github.forge import github_forge
from workers.forges.local import local_forge

FORGES: Mapping[str, Callable[[Place], Forge]] = {
    "github": github_forge,
    "local": local_forge,
}
