"""Submodules, where they are allowed: fetched by safe addresses, read, and in no commit of ours."""

from __future__ import annotations

import shutil

import pytest

from app.domain.errors import BaseMissing, RemoteUnreadable, UnsafeName
from app.domain.scope import ViolationCode
from app.repository.git import git
from app.repository.remote import Remote
from app.repository.submodule import address_of
from workers.workspace.checkout import open_checkout
from workers.workspace.submodules import fill

HOSTS = "https://forge.example/acme/widgets.git"


@pytest.fixture
def library(another):
    """A repository that is a submodule of others, with one of its own in it."""
    inner = another("inner.git")
    deep = inner.commit({b"deep.txt": ("100644", b"deep\n")})
    inner.point("refs/heads/main", deep)
    outer = another("library.git")
    sha = outer.commit(
        {
            b"lib.py": ("100644", b"lib = 1\n"),
            b".gitmodules": ("100644", modules({"in": ("nested", "../inner.git")})),
            b"nested": ("160000", deep.encode()),
        }
    )
    outer.point("refs/heads/main", sha)
    return outer, sha


def modules(named):
    """What a `.gitmodules` says: name → path and address."""
    return "".join(
        f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n\tupdate = "!touch proof"\n'
        for name, (path, url) in named.items()
    ).encode()


@pytest.fixture
def using(tmp_path, upstream, files, library):
    """Open a checkout of a repository that names the library by some address."""
    opened = []

    def make(url, commit=library[1], source=None):
        base = upstream.commit(
            files
            | {
                b".gitmodules": ("100644", modules({"lib": ("vendor/lib", url)})),
                b"vendor/lib": ("160000", commit.encode()),
            }
        )
        upstream.point("refs/heads/main", base)
        checkout = open_checkout(
            tmp_path / "c", f"a-{len(opened)}", upstream.remote, base, upstream.objects
        )
        opened.append(checkout)
        fill(checkout, source or upstream.url, tmp_path / "cache")
        return checkout

    yield make
    for one in opened:
        one.close()


@pytest.mark.contract("E01", "E04")
def test_submodules_are_filled_with_their_own(using, base):
    """Relative addresses are seen from where each repository came from; nothing is run for it."""
    checkout = using("../library.git")

    assert (checkout.tree / "vendor/lib/lib.py").read_text() == "lib = 1\n"
    assert (checkout.tree / "vendor/lib/nested/deep.txt").read_text() == "deep\n"
    assert not (checkout.tree / "vendor/lib/.git").exists()
    assert checkout.changes(checkout.base, checkout.snapshot()) == []
    assert checkout.unfit == []
    assert list(checkout.root.rglob("proof")) == []


@pytest.mark.contract("E03")
def test_a_change_inside_one_is_a_violation(using):
    """No commit of ours could hold it, in whichever it is; what is untracked there stays behind."""
    checkout = using("../library.git")
    (checkout.tree / "vendor/lib/build.log").write_text("left behind\n")
    assert checkout.changes(checkout.base, checkout.snapshot()) == []
    assert checkout.unfit == []

    (checkout.tree / "vendor/lib/nested/deep.txt").write_text("changed\n")
    checkout.snapshot()
    assert [(one.code, one.path) for one in checkout.unfit] == [
        (ViolationCode.SUBMODULE_LINK, "vendor/lib/nested")
    ]

    shutil.rmtree(checkout.tree / "vendor/lib")
    (change,) = checkout.changes(checkout.base, checkout.snapshot())
    assert (change.path, change.old_mode) == ("vendor/lib", "160000")


@pytest.mark.contract("E01")
def test_the_next_checkout_fetches_none_of_it(using, library, tmp_path):
    """A submodule has a cache of this host's, too."""
    using("../library.git")
    for name in ("library.git", "inner.git"):
        shutil.rmtree(tmp_path / name)

    checkout = using("../library.git")

    assert (checkout.tree / "vendor/lib/nested/deep.txt").exists()


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("ext::sh -c 'touch proof'", "/srv/widgets"),
        ("--upload-pack=touch proof", "/srv/widgets"),
        ("-oProxyCommand=touch", "/srv/widgets"),
        ("ssh://-oProxyCommand=touch/x", HOSTS),
        ("https://user:word@forge.example/x.git", HOSTS),
        ("file:///etc", HOSTS),
        ("/etc", HOSTS),
        ("etc", HOSTS),
        ("etc", "/srv/widgets"),
        ("../../../evil.example/x", HOSTS),
        ("../../../x", "git@forge.example:acme/widgets.git"),
        ("../../../x", "/srv/widgets"),
        ("https://forge.example/x\nname", HOSTS),
        ("", HOSTS),
    ],
)
def test_an_address_that_is_not_safe_is_refused(url, source):
    """No transport but git's own, no credential, no option, no other host by dots, no folder."""
    with pytest.raises(UnsafeName):
        address_of(url, source)


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    ("url", "source", "address"),
    [
        ("../lib.git", HOSTS, "https://forge.example/acme/lib.git"),
        ("../../other/lib", HOSTS, "https://forge.example/other/lib"),
        ("./lib", HOSTS, "https://forge.example/acme/widgets.git/lib"),
        ("../lib", "git@forge.example:acme/widgets", "git@forge.example:acme/lib"),
        ("../lib", "ssh://git@forge.example:22/acme/w", "ssh://git@forge.example:22/acme/lib"),
        ("../lib", "/srv/widgets", "/srv/lib"),
        ("/srv/lib", "/srv/widgets", "/srv/lib"),
        ("https://other.example/lib", HOSTS, "https://other.example/lib"),
        ("git@other.example:lib", "/srv/widgets", "git@other.example:lib"),
    ],
)
def test_addresses_are_seen_from_the_repository_around(url, source, address):
    """As git sees them, and a folder only from a folder."""
    assert address_of(url, source) == address


@pytest.mark.contract("S03")
def test_a_folder_is_not_reached_from_elsewhere(using, library):
    """A repository that came from a URL cannot name one on this machine."""
    with pytest.raises(UnsafeName):
        using(str(library[0].path), source=HOSTS)


@pytest.mark.parametrize(
    ("url", "commit", "refusal"),
    [("../nowhere.git", None, RemoteUnreadable), ("../library.git", "12" * 20, BaseMissing)],
)
def test_what_cannot_be_fetched_is_said(using, library, url, commit, refusal):
    """A silent remote may answer later; a commit that is nowhere will not come."""
    with pytest.raises(refusal):
        using(url, commit or library[1])


@pytest.mark.contract("E04")
def test_links_that_nobody_describes_stay_empty(tmp_path, upstream, files, library):
    """Neither an address of nothing nor a `.gitmodules` that is a link is followed."""
    base = upstream.commit(
        files
        | {
            b"elsewhere": ("100644", modules({"lib": ("lib", str(library[0].path))})),
            b".gitmodules": ("120000", b"elsewhere"),
            b"lib": ("160000", library[1].encode()),
        }
    )
    upstream.point("refs/heads/main", base)
    with open_checkout(tmp_path / "c", "a-1", upstream.remote, base, upstream.objects) as checkout:
        fill(checkout, upstream.url, tmp_path / "cache")

        assert list((checkout.tree / "lib").iterdir()) == []
        assert checkout.changes(base, checkout.snapshot()) == []


@pytest.mark.contract("E01")
def test_one_is_pushed_nowhere_and_shares_no_ref(using, upstream, library):
    """The remotes of submodules see reads alone."""
    before = library[0].git("for-each-ref")
    checkout = using("../library.git")
    git("update-ref", "refs/heads/mine", library[1], git_dir=checkout.root / "modules/0")

    assert library[0].git("for-each-ref") == before
    assert Remote(upstream.url) == upstream.remote
