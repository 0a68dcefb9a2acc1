"""What a process is told from outside, and what of it cannot be meant."""

from __future__ import annotations

import pytest
from fixtures.command import Fencepost

from app import config
from app.config import SettingUnfit

DATABASE, REDIS = "FENCEPOST_DATABASE_URL", "FENCEPOST_REDIS_URL"
POSTGRES = "postgresql://x@127.0.0.1:1/x"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://x:hush@h/x", "sqlite:///x", "junk", "postgresql+asyncpg://x@h/x", "host=h",
        "postgresql:/x", "postgresql://x:hu/sh@h/x", "postgresql://x@h:port/x", "postgresql://[x/x",
    ],
)  # fmt: skip
def test_another_database_is_refused(url: str) -> None:
    """An address that no Postgres can have is refused with what to write, and is not repeated."""
    with pytest.raises(SettingUnfit) as refused:
        config.read({DATABASE: url})

    assert refused.value.message.startswith(DATABASE)
    assert "postgresql://LOGIN:PASSWORD@HOST:PORT/DATABASE" in refused.value.advice
    assert "hush" not in refused.value.message


@pytest.mark.parametrize("url", ["junk", "unix:///x", "redis://h/x", "redis://h:0", "http://h"])
def test_another_redis_is_refused(url: str) -> None:
    """An address that no Redis can have is refused with what to write."""
    with pytest.raises(SettingUnfit) as refused:
        config.read({DATABASE: POSTGRES, REDIS: url})

    assert refused.value.message.startswith(REDIS)
    assert "write redis://" in refused.value.advice


@pytest.mark.parametrize(
    ("database", "redis"),
    [
        (POSTGRES, "redis://:a%40b@h:6379/0"), (POSTGRES, "rediss://h"),
        ("postgres://a:b@/c?host=%2Frun", "redis://h/"), ("postgresql+psycopg://a@[::1]:1/c", ""),
    ],
)  # fmt: skip
def test_usual_addresses_are_taken(database: str, redis: str) -> None:
    """Every form that the drivers read is let through as it is."""
    settings = config.read({DATABASE: database, REDIS: redis})

    assert (settings.database_url, settings.redis_url) == (database, redis or None)


@pytest.mark.parametrize("words", [["up", "--detach"], ["run", "--", "true"], ["worker"]])
def test_redis_alone_is_refused(own: Fencepost, words: list[str]) -> None:
    """Somebody's own Redis is of no use to the embedded Postgres: both or none, exit 2."""
    said = own(*words, **{REDIS: "redis://127.0.0.1:1/0"})

    assert (said.code, "(setting_unfit)\n  set both" in said.err) == (2, True)
    assert not own.home.exists()


def test_down_is_kept_by_no_setting(own: Fencepost) -> None:
    """Whatever the settings are, what runs can be ended."""
    assert own("down", **{DATABASE: "junk", REDIS: "junk"}).code == 0
