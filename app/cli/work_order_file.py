"""From a work order file to an order on a repository."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from app.cli.base import inspect
from app.cli.order import Order
from app.domain.errors import BadInput
from app.intake.document import LARGEST
from app.intake.work_order_file import read
from app.repository.address import is_url

STANDARD_INPUT = "-"


def from_file(path: str) -> Order:
    """What a file asks for, on its repository as it is now; nothing is changed.

    A relative path of a repository is seen from the file's folder; `-` is standard input.
    """
    found = read(_bytes(path), "standard input" if path == STANDARD_INPUT else path)
    folder = Path() if path == STANDARD_INPUT else Path(path).parent
    repository = found.repository if is_url(found.repository) else str(folder / found.repository)
    source = inspect(repository, found.base)
    return Order(source, replace(found.specification, base=source.base))


def _bytes(path: str) -> bytes:
    """As much of a file as shows that it is too large."""
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read(LARGEST + 1)
        with Path(path).open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as fault:
        raise BadInput(f"{path}: {fault.strerror}", hint="name a file, or - ") from None
