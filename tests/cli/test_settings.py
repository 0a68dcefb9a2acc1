"""What a process is told from outside, and what of it cannot be meant."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.command import Fencepost

from app import caches, config
from app.config import SECRETS, SecretUnreadable, SettingUnfit

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


def test_what_holds_a_password_may_be_in_a_file(tmp_path: Path) -> None:
    """NAME_FILE stands for NAME: the first line of the file, as secrets are mounted."""
    told = {DATABASE: POSTGRES, REDIS: "redis://h/0", "FENCEPOST_LISTEN_URL": POSTGRES,
            "FENCEPOST_TOKEN": "fp_x"}  # fmt: skip
    assert set(told) == set(SECRETS)
    for name, value in told.items():
        (tmp_path / name).write_text(f"{value}\n", "utf-8")

    read = config.read({f"{name}_FILE": str(tmp_path / name) for name in told})

    assert read == config.read(told)


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        (None, {}, "FENCEPOST_DATABASE_URL_FILE cannot be read"),
        (b"", {}, "FENCEPOST_DATABASE_URL_FILE is empty"),
        (b"hush\xff", {}, "FENCEPOST_DATABASE_URL_FILE cannot be read"),
        (b"hush", {DATABASE: POSTGRES}, "are both set"),
    ],
)
def test_a_secret_that_cannot_be_read_is_refused(
    tmp_path: Path, content: bytes | None, more: dict[str, str], words: str
) -> None:
    """Not there, empty, no text, or given twice: the name is said, and nothing of the content."""
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(SecretUnreadable) as refused:
        config.read({f"{DATABASE}_FILE": str(file), **more})

    assert words in refused.value.message
    assert "hush" not in refused.value.message


def test_a_secret_in_a_file_is_judged_like_any_other(tmp_path: Path) -> None:
    """An address in a file that no Postgres can have is refused, and not repeated."""
    (tmp_path / "url").write_text("mysql://x:hush@h/x")

    with pytest.raises(SettingUnfit) as refused:
        config.read({f"{DATABASE}_FILE": str(tmp_path / "url")})

    assert "hush" not in refused.value.message


@pytest.mark.parametrize(
    ("given", "seconds"), [("", None), ("0", 0), ("2.5", 2.5), ("110", 110), ("6s", 6)]
)
def test_a_grace_is_a_duration(given: str, seconds: float | None) -> None:
    """No time at all is a grace too: whatever runs is handed back at once."""
    read = config.read({"FENCEPOST_GRACE": given}).grace

    assert read == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize("given", ["-1", "6 seconds", "nan", "inf", "604801"])
def test_another_grace_is_refused(given: str) -> None:
    """What is no duration up to a week is said."""
    with pytest.raises(SettingUnfit, match="FENCEPOST_GRACE"):
        config.read({"FENCEPOST_GRACE": given})


@pytest.mark.parametrize(
    ("given", "least"), [("", 100 << 20), ("1", 1), ("64K", 64 << 10), ("2G", 2 << 30)]
)
def test_the_least_disk_is_a_size(given: str, least: int) -> None:
    """Bytes, or K, M, G and T of them; 100M where nothing is said."""
    assert config.read({"FENCEPOST_LEAST_DISK": given}).least_disk == least


@pytest.mark.parametrize("given", ["-1", "1 G", "much", "1.5G", "1g"])
def test_another_size_is_refused(given: str) -> None:
    """What is no size is said."""
    with pytest.raises(SettingUnfit, match="FENCEPOST_LEAST_DISK"):
        config.read({"FENCEPOST_LEAST_DISK": given})


def test_flower_needs_redis_alone(own: Fencepost, tmp_path: Path) -> None:
    """It is told no database; its login may be in a file; beyond loopback it asks for one."""
    alone = {REDIS: "redis://127.0.0.1:1/0"}
    (tmp_path / "login").write_text("operator\n")

    open_to_all = own("flower", "--address", "0.0.0.0", **alone)
    unfit = own("flower", **alone, FLOWER_BASIC_AUTH_FILE=str(tmp_path / "login"))

    assert (open_to_all.code, "(flower_without_authentication)" in open_to_all.err) == (2, True)
    assert (unfit.code, "(flower_credentials)" in unfit.err) == (2, True)


def test_the_bounds_of_caches_are_a_size_and_a_time() -> None:
    """Both have usual values; what is neither is refused with what to write."""
    usual = caches.read({})
    assert usual == caches.CacheBounds(20 << 30, timedelta(days=30))
    told = {"FENCEPOST_CACHE_LIMIT": "500M", "FENCEPOST_CACHE_AGE": "12h"}
    assert caches.read(told) == caches.CacheBounds(500 << 20, timedelta(hours=12))
    for wrong in ({"FENCEPOST_CACHE_LIMIT": "much"}, {"FENCEPOST_CACHE_AGE": "long"}):
        with pytest.raises(SettingUnfit, match=next(iter(wrong))):
            caches.read(wrong)
