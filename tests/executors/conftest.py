"""Programs that stand in for a vendor's where the real one cannot be made to do it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., str]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Make a program: it names a version and its options, else prints these lines and exits.

    Before that it runs a command of the shell, if there is one.
    """

    def make(
        *lines: object, version: str = "0.171.5", knows: str = "", code: int = 0,
        sandbox: int = 0, runs: str = ":",
    ) -> str:  # fmt: skip
        file = tmp_path / "program"
        printed = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        said = "\n".join(f"printf '%s\\n' {shlex.quote(line)}" for line in printed)
        file.write_text(
            f"#!/bin/sh\n[ $1 = sandbox ] && exit {sandbox}\n"
            f"case \"$*\" in *--version*) echo 'program {version}'; exit 0;;\n"
            f"*--help*) echo {shlex.quote(knows)}; exit 0;; esac\n{runs}\n{said}\nexit {code}\n"
        )
        file.chmod(0o755)
        return str(file)

    return make
