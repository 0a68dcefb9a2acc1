"""Titles become branch names that git and people can live with."""

import pytest

from app.domain.work_order import slug


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fix the flaky clock test", "fix-the-flaky-clock-test"),
        ("--upload-pack=touch /x", "upload-pack-touch-x"),
        ("Ünïcode… ✨", "unicode"),
        ("../../etc/passwd.lock", "etc-passwd-lock"),
        ("✨", "change"),
        ("a" * 100, "a" * 40),
    ],
)
def test_a_slug_is_plain_words(title, expected):
    """Nothing of a title can become an option, a path or a ref's special sign."""
    assert slug(title) == expected
