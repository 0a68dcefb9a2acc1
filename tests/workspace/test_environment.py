"""The agent's environment is an allow list."""

from __future__ import annotations

import pytest

from workers.workspace.environment import agent_environment, markers

pytestmark = pytest.mark.contract("E02")


def test_holds_what_is_named_and_nothing_else(tmp_path, monkeypatch):
    """Credentials and everything else of the worker's own environment stay with the worker."""
    for name in (
        "FENCEPOST_DATABASE_URL",
        "GITHUB_TOKEN",
        "SSH_AUTH_SOCK",
        "GIT_DIR",
        "LD_PRELOAD",
    ):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("PATH", "/bin")

    environment = agent_environment(tmp_path, markers("a1", "op", 3))

    assert set(environment) - {"LANG", "TZ", "LC_ALL", "LC_CTYPE"} == {
        "PATH", "LC_TIME", "HOME", "TMPDIR",
        "FENCEPOST_ATTEMPT", "FENCEPOST_OPERATION", "FENCEPOST_FENCE",
    }  # fmt: skip
    assert "secret" not in environment.values()
    assert environment["FENCEPOST_FENCE"] == "3"


def test_home_and_temporary_folder_are_scratch(tmp_path):
    """Both exist, under the scratch folder, for nobody else to read."""
    environment = agent_environment(tmp_path, {})

    for name in ("HOME", "TMPDIR"):
        folder = tmp_path / environment[name].removeprefix(f"{tmp_path}/")
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o777 == 0o700
