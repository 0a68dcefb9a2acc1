"""README and docs name only what exists: links, files, functions, commands, contract ids."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from app.cli.main import fencepost

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
INLINE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: A name behind `::` is defined in that file, in Python or in SQL.
DEFINES = r"(?:\b(?:def|class)|\bfunction fencepost\.|\btable fencepost\.)\s*{}\b"
CONTRACT = re.compile(r"\b([LTOMACQEGS])(\d\d?)(?:–\1?(\d\d))?\b")
HEADINGS = ["Context", "Decision", "Consequences", "Alternatives", "What enforces it"]


@pytest.fixture(scope="session")
def documents(house: Path, committed: list[Path]) -> dict[Path, str]:
    """Every page that readers are sent to, by its path in the clone."""
    pages = [p for p in committed if p.suffix == ".md" and p.parts[0] in {"README.md", "docs"}]
    return {page: (house / page).read_text("utf-8") for page in pages}


def test_every_relative_link_leads_somewhere(house: Path, documents: dict[Path, str]) -> None:
    """A reader who follows a link arrives."""
    broken = [
        f"{page}: {target}"
        for page, text in documents.items()
        for target in LINK.findall(text)
        if "://" not in target and not (house / page.parent / target).exists()
    ]

    assert broken == []


def test_every_file_and_function_named_exists(house: Path, documents: dict[Path, str]) -> None:
    """What a page calls by its path is there, and so is the name behind `::`."""
    rooms = {entry.name for entry in house.iterdir()}
    missing = [
        f"{page}: {span}"
        for page, text in documents.items()
        for span in INLINE.findall(BLOCK.sub("", text))
        if re.fullmatch(r"[\w./-]+(::\w+)?", span)
        and span.partition("::")[0].partition("/")[0] in rooms
        and not is_there(house, *span.split("::"))
    ]

    assert missing == []


def is_there(house: Path, path: str, name: str | None = None) -> bool:
    place = house / path
    if name is None:
        return place.exists()
    return place.is_file() and bool(re.search(DEFINES.format(name), place.read_text("utf-8")))


def test_every_command_named_can_be_typed(documents: dict[Path, str]) -> None:
    """A command in a page exists, with its verb and its options."""
    unknown = {
        f"{page}: {line}: {fault}"
        for page, text in documents.items()
        for line in commands(text)
        if (fault := misuse(line))
    }

    assert unknown == set()


def commands(text: str) -> Iterator[str]:
    """Everything that begins with `fencepost `, in blocks and in between."""
    for block in BLOCK.findall(text):
        yield from (line for line in block.splitlines() if line.startswith("fencepost "))
    for span in INLINE.findall(BLOCK.sub("", text)):
        if span.startswith("fencepost "):
            yield span


def misuse(line: str) -> str | None:
    """What of a line the command line would not know."""
    # two blanks begin the explanation that a block puts behind a command
    words = shlex.split(re.split(r" {2,}| \| ", line)[0])[1:]
    if "--" in words:
        words = words[: words.index("--")]
    command: click.Command = fencepost
    for word in words:
        if not re.fullmatch(r"[a-z][a-z-]*", word) or not isinstance(command, click.Group):
            break
        inner = command.get_command(click.Context(command), word)
        if inner is None:
            return f"no command {word}"
        command = inner
    options = {name for parameter in command.params for name in parameter.opts} | {"--help"}
    return next((f"no option {w}" for w in words if w.startswith("--") and w not in options), None)


def test_every_contract_id_named_is_in_the_list(house: Path, documents: dict[Path, str]) -> None:
    """An id that a page cites is a sentence of the contract."""
    listed = (house / "tests" / "plugins" / "contract_ids.txt").read_text("utf-8").split()
    unlisted = {
        f"{page}: {family}{number}"
        for page, text in documents.items()
        for family, *numbers in CONTRACT.findall(text)
        for number in numbers
        if number and f"{family}{number}" not in listed
    }

    assert unlisted == set()


def test_decisions_have_one_form(documents: dict[Path, str]) -> None:
    """A page that argues a choice has the five parts, in their order."""
    pages = {page: text for page, text in documents.items() if page.parent.name == "decisions"}
    numbers = sorted(int(page.name[:4]) for page in pages)

    assert numbers == list(range(1, len(pages) + 1))
    assert {
        page: found
        for page, text in pages.items()
        if (found := re.findall(r"^## (.+)$", text, re.MULTILINE)) != HEADINGS
    } == {}
