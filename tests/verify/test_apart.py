"""Verify shares no more with the product than canonical bytes and the schema."""

from __future__ import annotations

import ast
from pathlib import Path

import app.verify

SHARED = {"app.domain.digest", "app.domain.errors", "app.store.schema", "app.store.engine"}


def test_nothing_else_of_the_product_is_imported() -> None:
    """A fault of the product that its own check shared would never be found."""
    (room,) = map(Path, app.verify.__path__)
    imported = {
        name
        for module in room.glob("*.py")
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        for name in names(node)
        if name.partition(".")[0] in {"app", "workers"}
    }

    assert {name for name in imported if not name.startswith("app.verify")} <= SHARED


def names(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    match node:
        case ast.Import(names=found):
            return [one.name for one in found]
        case ast.ImportFrom(module=str(module), names=found):
            whole = [f"{module}.{one.name}" for one in found]
            return [name if name in SHARED else module for name in whole]
    return []
