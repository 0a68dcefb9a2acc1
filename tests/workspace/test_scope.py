"""The scope is checked on git objects, against the base."""

from __future__ import annotations

import pytest

from app.domain.errors import UnsafePath
from app.domain.scope import ViolationCode, check_patterns, is_git_name, resolve
from workers.workspace.scope import check_scope, matches_anything

pytestmark = pytest.mark.contract("E03")


@pytest.fixture
def judge(upstream, base, files):
    """The violations of a commit that adds to, or takes from, the base: path → code."""

    def check(added=(), *, without=(), patterns=("src",)):
        left = {path: entry for path, entry in files.items() if path not in without}
        commit = upstream.commit(left | dict(added), parent=base)
        found = check_scope(upstream.path, base, commit, check_patterns(patterns))
        assert all(violation.why for violation in found)
        return [(violation.path, violation.code) for violation in found]

    return check


def a_file(content=b"x"):
    return ("100644", content)


def a_link(target):
    return ("120000", target)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("src", ("src", "src/**")),
        ("./src/", ("src/**",)),
        ("src//a.py", ("src/a.py", "src/a.py/**")),
        ("src/*", ("src/*",)),
        ("packages/*/src", ("packages/*/src", "packages/*/src/**")),
        (".", ("**",)),
        ("**/*.py", ("**/*.py",)),
        ("!src/old", ("!src/old", "!src/old/**")),
    ],
)
def test_patterns_have_a_normal_form(written, normal):
    """A plain last part also means the folder of that name; normalising twice changes nothing."""
    assert check_patterns([written]) == normal
    assert check_patterns(normal) == normal


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "!",
        "!/etc",
        "!../x",
        "/etc",
        "../x",
        "a/../b",
        ":(top)x",
        ":!x",
        "a\0b",
        "a\\b",
        "..",
        "\udcff",
    ],
)
@pytest.mark.contract("S03")
def test_unsafe_patterns_are_refused(pattern):
    """A pattern can neither leave the repository nor change how git reads the others."""
    with pytest.raises(UnsafePath):
        check_patterns([pattern])


@pytest.mark.parametrize(
    ("pattern", "path", "is_inside"),
    [
        ("src", b"src/deep/new", True),
        ("src", b"srcs", False),
        ("src/*", b"src/new", True),
        ("src/*", b"src/deep/new", False),
        ("src/**", b"src/deep/new", True),
        ("**/*.py", b"top.py", True),
        ("**/*.py", b"a/b/c.py", True),
        ("*.py", b"a/b.py", False),
        ("[st]rc/?.py", b"src/z.py", True),
        (".", b"any/thing", True),
        ("-rf", b"-rf", True),
        ("src", b"new\nline", False),
    ],
)
def test_matching_is_gits_own_glob(judge, pattern, path, is_inside):
    """Patterns mean what `:(glob)` means to git."""
    found = judge({path: a_file()}, patterns=[pattern])

    assert (found == []) is is_inside


def test_every_way_of_changing_a_path_counts(judge):
    """Added, changed, deleted, moved, other mode, other type: outside the scope each is refused."""
    outside = ViolationCode.OUTSIDE_SCOPE

    assert judge({b"new": a_file()}) == [("new", outside)]
    assert judge({b"README.md": a_file()}) == [("README.md", outside)]
    assert judge(without=[b"README.md"]) == [("README.md", outside)]
    assert judge({b"run.sh": ("100644", b"#!/bin/sh\n")}) == [("run.sh", outside)]
    assert judge({b"src/g": a_file(b"guide\n")}, without=[b"docs/guide.md"]) == [
        ("docs/guide.md", outside)
    ]
    assert judge({b"moved.py": a_file(b"a = 1\n")}, without=[b"src/a.py"]) == [
        ("moved.py", outside)
    ]
    assert judge({b"README.md": a_link(b"src/a.py")}) == [("README.md", outside)]


@pytest.mark.parametrize("patterns", [("src", "!src/old"), ("!src/old", "src"), ("!src/old",)])
def test_an_exclusion_wins_wherever_it_stands(judge, patterns):
    """What is excluded is outside, whatever else covers it."""
    inside = [(b"src/new.py", a_file())]

    assert judge(inside, patterns=patterns) == []
    assert judge([*inside, (b"src/old/a.py", a_file())], patterns=patterns) == [
        ("src/old/a.py", ViolationCode.OUTSIDE_SCOPE)
    ]


def test_no_pattern_is_the_whole_repository(judge):
    """Without patterns nothing is outside, and the other rules still hold."""
    assert judge({b"new": a_file()}, patterns=[]) == []
    assert judge({b"up": a_link(b"../x")}, patterns=[]) == [
        ("up", ViolationCode.LINK_LEAVES_REPOSITORY)
    ]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (b"a.py", None),
        (b"deep/../a.py", None),
        (b"not/there/yet", None),
        (b"deep", None),
        (b".", None),
        (b"/etc/passwd", ViolationCode.LINK_LEAVES_REPOSITORY),
        (b"../../x", ViolationCode.LINK_LEAVES_REPOSITORY),
        (b"../src/../../x", ViolationCode.LINK_LEAVES_REPOSITORY),
        (b"../README.md", ViolationCode.LINK_LEAVES_SCOPE),
        (b"..", ViolationCode.LINK_LEAVES_SCOPE),
        (b"../docs", ViolationCode.LINK_LEAVES_SCOPE),
        (b"../nothing", ViolationCode.LINK_LEAVES_SCOPE),
        (b"../.git/config", ViolationCode.GIT_NAME),
    ],
)
def test_links_stay_inside(judge, target, code):
    """A link may lead to anything in the scope, there or not, and to nothing else."""
    found = judge({b"src/link": a_link(target)})

    assert found == ([("src/link", code)] if code else [])


def test_links_through_links_are_followed():
    """A target that only looks inside is followed through the links on its way."""
    links = {"a/b/root": "../..", "loop": "loop", "abs": "/etc"}

    assert resolve("x", "a/b/c", links) == "a/b/c"
    assert resolve("x", "a/b/root/../y", links) is None
    assert resolve("x", "loop", links) is None
    assert resolve("x", "abs/passwd", links) is None
    assert resolve("a/x", "b/root/z", links) == "z"


def test_submodule_links_are_refused(judge):
    """A link to another repository's commit is refused also inside the scope."""
    assert judge({b"src/sub": ("160000", b"12" * 20)}) == [
        ("src/sub", ViolationCode.SUBMODULE_LINK)
    ]


def test_gitmodules_cannot_hide_a_submodule(judge):
    """`ignore = all` in the tree's own .gitmodules changes nothing."""
    hiding = b'[submodule "s"]\n\tpath = src/sub\n\turl = x\n\tignore = all\n'

    found = judge({b".gitmodules": a_file(hiding), b"src/sub": ("160000", b"12" * 20)}, patterns=[])

    assert found == [("src/sub", ViolationCode.SUBMODULE_LINK)]


@pytest.mark.parametrize(
    ("paths", "clashing"),
    [
        ([b"src/A.py"], ["src/A.py"]),
        ([b"Src/new"], ["Src"]),
        ([b"src/Deep"], ["src/Deep"]),
        ([b"src/e\xcc\x81", b"src/\xc3\xa9"], ["src/e\u0301", "src/\u00e9"]),
        ([b"src/stra\xc3\x9fe", b"src/STRASSE"], ["src/STRASSE", "src/straße"]),
        ([b"src/other"], []),
    ],
)
def test_names_that_differ_only_in_form_clash(judge, paths, clashing):
    """A new name that some file systems take for another one is refused."""
    found = judge({path: a_file() for path in paths}, patterns=[])

    assert found == [(path, ViolationCode.NAME_CLASH) for path in clashing]


def test_old_clashes_are_the_repositorys_own(upstream, files):
    """Two names that already clashed may both be changed."""
    old = files | {b"src/A.PY": a_file(b"old")}
    base = upstream.commit(old)
    commit = upstream.commit(old | {b"src/A.PY": a_file(), b"src/new": a_file()}, parent=base)

    assert check_scope(upstream.path, base, commit, ["src/**"]) == []


@pytest.mark.parametrize("name", [".git ", "git~1", ".GiT.", ".g\u200cit", ".git:x", "a\\.git\\b"])
def test_names_of_git_are_known_in_every_dress(name):
    """What Windows or macOS take for `.git` is `.git`."""
    assert is_git_name(f"src/{name}/x")
    assert not is_git_name("src/.gitignore/x.git/digit~1")


def test_git_names_are_refused(judge):
    """A tree with a name of git's own is refused also inside the scope."""
    assert judge({b"src/git~1": a_file()}) == [("src/git~1", ViolationCode.GIT_NAME)]


def test_patterns_must_match_before_or_after(upstream, base, files):
    """A pattern for files that the run makes is good, one that never matches is not."""
    commit = upstream.commit(files | {b"lib/new": a_file()}, parent=base)
    git_dir = upstream.path

    assert matches_anything(git_dir, base, None, ["docs/**"])
    assert not matches_anything(git_dir, base, None, ["lib/**"])
    assert matches_anything(git_dir, base, commit, ["lib/**"])
    assert not matches_anything(git_dir, base, commit, ["typo/**", "*.rs"])
    assert matches_anything(git_dir, base, None, [])
