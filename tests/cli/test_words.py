"""Durations, ages, tables, exit codes: the small things that every command shares."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import click
import pytest

from app import config
from app.cli import failing
from app.cli.duration import DURATION, GRACE
from app.cli.flower import OpenToOthers, is_loopback
from app.cli.logins import with_login
from app.cli.main import COMMANDS
from app.cli.shown import age, elapsed, plain, short
from app.cli.telling import output_lines
from app.config import SettingMissing
from app.domain.errors import (
    DatabaseUnreachable,
    FencepostError,
    GitFailed,
    NotFound,
    StaleFence,
)
from app.store.views.journal import Written


@pytest.mark.parametrize(
    ("typed", "length"),
    [
        ("90s", timedelta(seconds=90)), ("10m", timedelta(minutes=10)), ("2h", timedelta(hours=2)),
        ("5", timedelta(seconds=5)), ("2.5", timedelta(seconds=2.5)),
        ("1.5h", timedelta(minutes=90)),
    ],
)  # fmt: skip
def test_a_duration_is_read(typed: str, length: timedelta) -> None:
    """People type seconds, minutes and hours; a number alone is seconds."""
    assert DURATION.convert(typed, None, None) == length


@pytest.mark.parametrize("typed", ["", "0s", "-1s", "1.5.5h", "8d", "١s", "nan"])
def test_other_durations_are_refused(typed: str) -> None:
    """What is no duration, or not between a second and a week, is refused."""
    with pytest.raises(click.UsageError):
        DURATION.convert(typed, None, None)


@pytest.mark.parametrize("written", ["0", "5", "2.5", "5s", "2m", "1.5h", "604800"])
def test_a_grace_is_typed_as_it_is_set(written: str) -> None:
    """--grace and FENCEPOST_GRACE understand the same, and mean the same by it."""
    typed = GRACE.convert(written, None, None)

    assert typed == config.read({"FENCEPOST_GRACE": written}).grace


def test_a_line_of_output_is_cut_where_nobody_reads_on() -> None:
    """How much is left out is said; a line that fits stays as it is."""
    short, long = (
        Written(1, datetime.now(UTC), "author", "a", 1, 1, "output", {"text": "x" * count})
        for count in (2000, 1_002_000)
    )

    assert output_lines(short) == ["x" * 2000]
    (told,) = output_lines(long)
    assert told.startswith("x" * 2000 + "… and 1,000,000 more; `fencepost logs ATTEMPT --json`")


def test_ages_are_in_their_largest_unit() -> None:
    """An age is one number and one letter."""
    lengths = [timedelta(seconds=0), timedelta(seconds=59), timedelta(minutes=3), timedelta(days=2)]

    assert [age(length) for length in lengths] == ["0s", "59s", "3m", "2d"]
    assert elapsed(timedelta(minutes=3, seconds=20)) == "3 m 20 s"


def test_short_ids_stay_different() -> None:
    """Ids are shortened as far as they can still be told apart."""
    assert short(["a_23456789", "a_234567zz"]) == {
        "a_23456789": "a_234567" + "8", "a_234567zz": "a_234567" + "z",
    }  # fmt: skip


def test_nothing_shown_can_steer_the_terminal() -> None:
    """Escapes and line ends of names and output are made visible."""
    assert plain("a\x1b[31mb\nc") == "a·[31mb·c"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (NotFound("x"), 2),
        (StaleFence("x"), 2),
        (DatabaseUnreachable("x"), 2),
        (SettingMissing("x"), 2),
        (GitFailed("x"), 1),
        (click.UsageError("x"), 2),
        (KeyboardInterrupt(), 130),
        (PermissionError(13, "x", "up.lock"), 1),
        (ZeroDivisionError("x"), 70),
    ],
)
def test_each_fault_has_its_exit_code(
    fault: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever goes wrong ends with the code of the table and one line that says so."""

    def fail() -> None:
        raise fault

    assert failing.ending(fail) == code
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Traceback" not in said


def test_every_refusal_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Each error is shown with its code, and with a next step on the second line (L8)."""
    for kind in _descendants(FencepostError):

        def fail(kind: Callable[[str], FencepostError] = kind) -> None:
            raise kind("a fact")

        failing.ending(fail)
        first, second, *_ = capsys.readouterr().err.splitlines()
        assert first == f"error: a fact ({kind.code})"
        assert second.strip(), kind


def test_help_imports_nothing_slow() -> None:
    """`fencepost --help` answers at once, because only what is asked for is imported."""
    command = [sys.executable, "-P", "-X", "importtime", "-m", "app.cli", "--help"]

    said = subprocess.run(command, capture_output=True, text=True, check=True)

    imported = {line.rpartition("|")[2].strip() for line in said.stderr.splitlines()}
    assert not imported & {"sqlalchemy", "celery", "rich", "psycopg", "redis", "app.store.engine"}
    assert all(name in said.stdout for name in COMMANDS)


def test_the_worst_failure_is_shown_whole_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FENCEPOST_DEBUG shows where a fault of ours comes from."""
    monkeypatch.setenv("FENCEPOST_DEBUG", "1")

    failing.ending(lambda: 1 // 0)

    assert "Traceback" in capsys.readouterr().err


@pytest.mark.contract("Q07")
@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "::", "example.invalid", ""])
def test_flower_is_not_open_to_others(address: str) -> None:
    """Beyond loopback Flower needs to know who asks."""
    assert not is_loopback(address)
    assert OpenToOthers.hint.startswith("set FLOWER_BASIC_AUTH")


def test_a_lesser_login_is_the_same_database() -> None:
    """Only name and password of a URL change, however it is written."""
    socket = "postgresql+psycopg://o:p%40w@/db?host=%2Frun%2Fpg"

    assert with_login(socket, "fencepost_app", "s/t") == (
        "postgresql+psycopg://fencepost_app:s/t@/db?host=%2Frun%2Fpg".replace("s/t", "s%2Ft")
    )
    assert with_login("postgresql://o@host:5/db", "a", "b") == "postgresql://a:b@host:5/db"


def _descendants(kind: type[FencepostError]) -> list[type[FencepostError]]:
    return [one for child in kind.__subclasses__() for one in (child, *_descendants(child))]


def test_a_reader_that_left_is_no_fault() -> None:
    """`fencepost attempts list | true` fails quietly, whichever way click tells of it."""
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "--help"],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)

    assert (done.returncode, done.stderr) == (1, "")
