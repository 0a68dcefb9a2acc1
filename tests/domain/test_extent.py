"""How much of a repository a checkout holds is part of what is approved."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.digest import canonical, digest
from app.domain.errors import BadInput, UnsafePath
from app.domain.extent import MOST_DEPTH, Extent, check_depth, check_folders
from app.domain.work_order import Specification

MINUTE = timedelta(minutes=1)
PLAIN = Specification(
    "Change it", "main", ("src/**",), ("sh", "-c", "true"), ("true",), MINUTE, MINUTE
)


def digest_of(specification):
    return digest(canonical(specification.value()))


def test_what_was_approved_before_keeps_its_digest():
    """A specification that asks for the whole repository says what it always said."""
    assert digest_of(PLAIN) == "b4606426cbae504061a29539f5319e81197b62665c1ba5b5268a44420c47f80d"


@pytest.mark.parametrize(
    "extent",
    [Extent(("src",)), Extent(depth=1), Extent(submodules=True), Extent(lfs=True)],
    ids=["sparse", "depth", "submodules", "lfs"],
)
def test_each_part_of_it_is_bound_by_the_digest(extent):
    """Who approves a folder has not approved the fetching of submodules."""
    assert digest_of(replace(PLAIN, checkout=extent)) != digest_of(PLAIN)


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    "folder",
    ["", "/", "/etc", "..", "a/../b", "a*", "[a]", "!a", "a\\b", ".git", "a/.GIT/b", "a\nb", "."],
)
def test_what_is_no_folder_of_the_repository_is_refused(folder):
    """Nothing becomes a pattern, an absolute path, or git's own."""
    with pytest.raises(UnsafePath):
        check_folders([folder])


def test_folders_are_brought_into_one_form():
    """The same folders are the same digest."""
    assert check_folders(["src/", "./docs", "src", "-x/y"]) == ("-x/y", "docs", "src")


@pytest.mark.parametrize("depth", [0, -1, MOST_DEPTH + 1])
def test_a_depth_is_a_few_commits(depth):
    """At least one, and not without end."""
    with pytest.raises(BadInput):
        check_depth(depth)
