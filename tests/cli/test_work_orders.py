"""Work orders at the command line: from a file to a pull request, by whoever may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.command import Fencepost, Said
from fixtures.stack import a_repository
from fixtures.waiting import until

ORDER = """\
title: {title}
repository: {repository}
base: main
paths: [src/**]
exclude: [src/vendor/**]
command: echo y = 2 >> src/a.py
checks: ["grep -q y src/a.py"]
{more}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository beside the files."""
    folder = tmp_path_factory.mktemp("orders")
    a_repository(folder / "ordered", {"src/a.py": "x = 1\n"})
    return folder


@pytest.fixture
def file(folder: Path) -> Callable[..., Path]:
    """Writes a work order file; the repository is named as seen from its folder."""

    def write(title: str = "Add y", more: str = "") -> Path:
        path = folder / "order.yaml"
        path.write_text(ORDER.format(title=title, repository="ordered", more=more))
        return path

    return write


def ended(said: Said, code: int, word: str = "") -> None:
    assert (said.code, word in said.err) == (code, True), said.err


@pytest.mark.contract("O01")
def test_a_file_becomes_a_pull_request(up: Fencepost, file: Callable[..., Path]) -> None:
    """Created, submitted, approved, dispatched, merged, completed; each step says the next one."""
    created = up("work-orders", "create", str(file()), "--json", "--key", "first").value
    order, task = created["id"], created["tasks"][0]["id"]
    assert (created["state"], created["author"]) == ("draft", "local")

    ended(up("work-orders", "dispatch", order), 2, "(not_approved)")
    ended(up("work-orders", "approve", order), 2, "(wrong_state)")
    said = up("work-orders", "submit", order)
    assert f"next: fencepost work-orders approve {order}" in said.err
    said = up("work-orders", "approve", order[:9], "--digest", created["digest"])
    assert said.out == f"{order} approved\n"
    assert up("tasks", "show", task, "--json").value["attempts"] == []

    attempt = up("work-orders", "dispatch", order, "--key", "go", "--json").value["attempt"]
    again = up("work-orders", "dispatch", order, "--key", "go", "--json").value["attempt"]
    assert again == attempt
    until(lambda: up("attempts", "show", attempt, "--json").value["outcome"] != "active")
    shown = up("attempts", "show", attempt, "--json").value
    assert shown["outcome"] == "done", shown

    ended(up("work-orders", "complete", order), 2, "(unsettled_work)")
    up("tasks", "move", task, "done", "--reason", "it is merged")
    assert up("work-orders", "complete", order).out == f"{order} completed\n"
    told = up("work-orders", "show", order)
    for words in ("completed, approved by local", "src/vendor", "approve", "Add y"):
        assert words in told.out
    assert any(one["id"] == order for one in up("work-orders", "list", "--json").value)
    assert up("work-orders", "create", str(file()), "--json", "--key", "first").value["id"] == order


def test_a_file_with_faults_is_refused_with_their_places(
    up: Fencepost, file: Callable[..., Path]
) -> None:
    """Each fault has a line of its own, and nothing is written down."""
    before = [one["id"] for one in up("work-orders", "list", "--json").value]
    path = file(more="buget: {}\nagent: {name: codex, prompt: x}\n")

    said = up("work-orders", "create", str(path))

    ended(said, 2, "(unfit_work_order)")
    assert f"{path}:8:1: buget is unknown; it may be budget (unknown_field)" in said.err
    assert [one["id"] for one in up("work-orders", "list", "--json").value] == before
    ended(up("work-orders", "create", str(path.with_name("none.yaml"))), 2, "(bad_input)")


@pytest.mark.contract("S05")
def test_whoever_has_a_token_may_what_its_scopes_say(
    up: Fencepost, file: Callable[..., Path]
) -> None:
    """Ana writes, Ben approves; neither may do the other's part, and a revoked token nothing."""
    ana = up("tokens", "create", "ana", "--scope", "operator", "--scope", "approver").out.strip()
    ben = up("tokens", "create", "ben", "--scope", "approver", "--world", "default").out.strip()
    path = str(file("Add y again", more="second_person: true\n"))

    order = up("work-orders", "create", path, "--json", FENCEPOST_TOKEN=ana).value["id"]
    ended(up("work-orders", "create", path, FENCEPOST_TOKEN=ben), 2, "(scope_missing)")
    ended(up("work-orders", "submit", order, FENCEPOST_TOKEN=ana), 0)
    said = up("work-orders", "approve", order, FENCEPOST_TOKEN=ana)
    ended(said, 2, "(second_person_needed)")
    ended(up("work-orders", "approve", order, FENCEPOST_TOKEN=ben), 0)
    seen = up("work-orders", "show", order, "--json", FENCEPOST_TOKEN=ben).value
    assert (seen["author"], seen["approved_by"]) == ("ana", "ben")
    ended(up("tokens", "list", FENCEPOST_TOKEN=ana), 2, "(scope_missing)")
    assert ana not in up("tokens", "list", "--json").out

    ended(up("tokens", "revoke", "ana"), 0)
    ended(up("work-orders", "show", order, FENCEPOST_TOKEN=ana), 2, "(token_refused)")


def test_a_rejected_work_order_is_revised(up: Fencepost, file: Callable[..., Path]) -> None:
    """The reason is shown, the revision is a draft again; given up, it is over."""
    order = up("work-orders", "create", str(file("Too much")), "--json").value["id"]
    up("work-orders", "submit", order)
    ended(up("work-orders", "reject", order), 2)
    said = up("work-orders", "reject", order, "--reason", "too much at once")
    assert said.out == f"{order} rejected\n"
    assert "because: too much at once" in up("work-orders", "show", order).out

    revised = up("work-orders", "revise", order, str(file("Less")), "--json").value
    assert (revised["state"], revised["title"]) == ("draft", "Less")

    ended(up("work-orders", "cancel", order, "--reason", "not wanted"), 0)
    ended(up("work-orders", "submit", order), 2, "(wrong_state)")


def test_a_revision_stays_in_its_repository(
    up: Fencepost, file: Callable[..., Path], folder: Path
) -> None:
    """What was approved for one repository is not carried over to another."""
    order = up("work-orders", "create", str(file("Here")), "--json").value["id"]
    a_repository(folder / "other", {"src/a.py": "x = 1\n"})
    elsewhere = folder / "elsewhere.yaml"
    elsewhere.write_text(ORDER.format(title="There", repository="other", more=""))

    ended(up("work-orders", "revise", order, str(elsewhere)), 2, "(bad_input)")


def test_the_schema_is_printed(up: Fencepost) -> None:
    """Editors and other programs get it from the command that reads by it."""
    assert up("work-orders", "schema").value["title"] == "Fencepost work order"
