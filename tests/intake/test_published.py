"""What is published about work order files is what the code goes by."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from app.domain.executor import EXECUTORS
from app.intake.checking import CODES
from app.intake.schema import SCHEMA, rendered
from workers.executors.registry import EXECUTORS as INSTALLED

DOCS = Path(__file__).parents[2] / "docs"


def test_the_published_schema_is_the_one_in_the_code() -> None:
    """`fencepost work-orders schema > docs/work-order.schema.json` writes it again."""
    assert (DOCS / "work-order.schema.json").read_text("utf-8") == rendered()


def test_the_schema_is_a_schema() -> None:
    """Editors and other programs can read it, and every word in it is one that faults know."""
    Draft202012Validator.check_schema(SCHEMA)

    assert keywords(SCHEMA) <= {*CODES, "$schema", "title", "description", "properties", "items"}


def keywords(schema: object) -> set[str]:
    """The words of JSON Schema that a schema uses."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for name, value in schema.items():
        inner = value.values() if name == "properties" else [value]
        if name in ("properties", "items", "not"):
            found |= {word for one in inner for word in keywords(one)}
    return found


@pytest.mark.parametrize("code", sorted({*CODES.values(), "duplicate_key", "alias_refused",
    "tag_refused", "too_deep", "too_many_values", "too_large", "not_utf8", "bad_character",
    "bad_syntax", "not_exact", "key_not_text", "several_documents", "empty",
    "agent_not_installed", "unsafe_path"}))  # fmt: skip
def test_every_code_of_a_fault_is_in_the_page(code: str) -> None:
    """A code that is shown can be looked up."""
    assert f"`{code}`" in (DOCS / "work-orders.md").read_text("utf-8")


def test_the_executors_known_are_those_that_workers_have() -> None:
    """The control plane refuses what no worker could run, and nothing else."""
    assert set(EXECUTORS) == set(INSTALLED)
