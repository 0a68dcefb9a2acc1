"""Begins with the tests that start processes: a dear file that comes last is waited for alone."""

from __future__ import annotations

import pytest

_DEAR = ("crash", "cli", "fleet", "github", "conformance", "schedules", "metrics", "house")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tests = config.rootpath / "tests"

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(tests).parts[0] if item.path.is_relative_to(tests) else ""
        return _DEAR.index(folder) if folder in _DEAR else len(_DEAR)

    items.sort(key=place)
