"""A part of a repository and a short history, fetched from GitHub and pushed back as a whole."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from pathlib import Path

import pytest
from fixtures.github_site import NAME, Site
from fixtures.small_disk import small_disk
from sqlalchemy import select

from app.domain.extent import Extent
from app.repository.git import git
from app.store.schema import claims


@pytest.mark.contract("E01", "E03", "E04")
def test_a_short_history_ends_in_a_whole_commit(site: Site, tmp_path: Path) -> None:
    """The request's commit stands on the base and keeps every file that the run did not see."""
    files = {"a.py": "x = 1\n", "src/b.py": "b = 1\n", "docs/guide.md": "guide\n"}
    base = site.door.push(NAME, "main", files)
    outside = site.stack.outside
    look = f"ls src docs > {outside}/ls; git log --oneline > {outside}/history"
    seen = site.dispatch(f"{look}; {site.change()}", checkout=Extent(folders=("src",), depth=1))
    site.stack.build()

    pull = site.published_once(seen)

    assert (outside / "ls").read_text() == "src:\nb.py\n"
    assert (outside / "history").read_text().count("\n") == 1
    (there,) = (tmp_path / "github").rglob("*.git")
    names = git("ls-tree", "-r", "--name-only", pull["head_sha"], git_dir=there).split()
    assert (set(names), git("rev-parse", f"{pull['head_sha']}^", git_dir=there)) == (
        set(files), base,
    )  # fmt: skip
    assert [one.name for one in (site.stack.home / "cache").glob("*.shallow.git")]


@pytest.mark.contract("E01")
def test_many_slots_fetch_the_base_once(site: Site) -> None:
    """Eight attempts on one base begin at once; GitHub is asked for its objects once."""
    dispatched = [site.dispatch(site.change()) for _ in range(8)]
    site.stack.start_dispatcher()
    site.stack.start_worker(slots=8)

    site.stack.until(lambda: all(seen.is_over for seen in dispatched))

    packs = list((site.stack.home / "cache").glob("*.git/objects/pack/*.pack"))
    assert len(packs) == 1


@pytest.mark.contract("Q09", "E01")
def test_a_cache_without_room_costs_no_start(site: Site) -> None:
    """A fetch that found the disk full is handed back for capacity; nothing stays half-made."""
    site.stack.settings["FENCEPOST_LEAST_DISK"] = "1M"
    site.door.push(NAME, "main", {"a.py": "x = 1\n", "big": secrets.token_hex(5 << 20)})
    with small_disk(site.stack.home / "cache", "3m") as caches, ExitStack() as last:
        last.callback(site.stack.throw_away)  # nobody uses the disk any more
        seen = site.dispatch(site.change())
        site.stack.build()

        site.stack.until(lambda: "capacity" in str(why(site)))

        assert (seen.starts(), seen.outcome, site.stack.count("author")) == (0, None, 0)
        site.stack.until(lambda: not list(caches.rglob("tmp_*")))
        assert not list(caches.rglob("*.pack"))


def why(site: Site) -> list[str]:
    """What claims were handed back for."""
    with site.stack.store.begin() as tx:
        query = select(claims.c.end_detail).where(claims.c.end_cause == "released")
        return list(tx.execute(query).scalars())
