"""Which repositories are GitHub's, and who we are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubles.github.server import GitHub
from fixtures.github_site import NAME
from fixtures.waiting import until

from app import config
from app.config import Secret, SecretUnreadable, SettingUnfit
from app.domain.errors import ForgeRefused, RemoteUnreadable
from app.domain.pull_request import ForgeLimited
from app.github.account import Account, CredentialMissing, account_of
from app.github.address import address_of, is_github
from app.github.client import Client, as_bearer
from app.github.credential import Minted, credential_of
from app.github.hub import Hub

TOKEN = Secret("FENCEPOST_GITHUB_TOKEN", "t")
HERE = Account("https://api.github.com", TOKEN)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/widgets",
        "https://github.com/acme/widgets.git",
        "https://GitHub.com/acme/widgets/",
    ],
)
def test_an_address_has_one_form(url: str) -> None:
    """However it was typed, it is one repository."""
    address = address_of(url, HERE)

    assert address is not None
    assert address.url == "https://github.com/acme/widgets.git"
    assert is_github(url, HERE)


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    "url",
    [
        "https://gitlab.com/acme/widgets",
        "https://github.com.evil.example/acme/widgets",
        "https://user@github.com/acme/widgets",
        "http://github.com/acme/widgets",
        "git@github.com:acme/widgets",
        "https://github.com/acme",
        "https://github.com/acme/widgets/tree/main",
        "https://github.com/acme/..",
        "https://github.com/acme/wid gets",
        "https://github.com/acme/widgets?x=1",
        "/srv/acme/widgets",
    ],
)
def test_other_addresses_are_not_githubs(url: str) -> None:
    """A token goes to no host but its own; what is not plainly a repository is left alone."""
    assert address_of(url, HERE) is None


def test_without_a_credential_nothing_is_githubs() -> None:
    """Then an address on its host stays what it was: a source of the local forge."""
    assert not is_github("https://github.com/acme/widgets", Account("https://api.github.com"))


@pytest.mark.parametrize(
    ("api", "host"),
    [
        ("https://api.github.com", "github.com"),
        ("https://ghe.example/api/v3", "ghe.example"),
        ("https://api.acme.ghe.com", "acme.ghe.com"),
        ("http://127.0.0.1:8080/api/v3", "127.0.0.1:8080"),
    ],
)
def test_the_host_follows_from_the_api(api: str, host: str) -> None:
    """One setting names both (GitHub Enterprise)."""
    assert account_of(config.read({"FENCEPOST_GITHUB_URL": api})).host == host


@pytest.mark.parametrize(
    "told",
    [
        {"FENCEPOST_GITHUB_URL": "http://ghe.example/api/v3"},
        {"FENCEPOST_GITHUB_URL": "https://user:pw@ghe.example"},
        {"FENCEPOST_GITHUB_URL": "ghe.example"},
        {"FENCEPOST_GITHUB_APP": "1"},
        {"FENCEPOST_GITHUB_APP_KEY": "k"},
        {"FENCEPOST_GITHUB_TOKEN": "t", "FENCEPOST_GITHUB_APP": "1",
         "FENCEPOST_GITHUB_APP_KEY": "k"},
        {"FENCEPOST_GITHUB_TOKEN_FILE": "/nowhere"},
        {"FENCEPOST_GITHUB_SETTLE": "soon"},
    ],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(told: dict[str, str]) -> None:
    """A token never travels in the clear, and half an App is none."""
    with pytest.raises(SettingUnfit):
        account_of(config.read(told))


def test_a_secret_is_in_no_words() -> None:
    """Neither settings nor account show it."""
    settings = config.read({"FENCEPOST_GITHUB_TOKEN": "canary"})

    assert "canary" not in repr(settings) + repr(account_of(settings))


@pytest.mark.contract("G05")
def test_a_token_file_that_was_replaced_counts(tmp_path: Path) -> None:
    """It is read when it is needed, so that a rotation needs no new process."""
    file = tmp_path / "token"
    file.write_text("old\n")
    account = account_of(config.read({"FENCEPOST_GITHUB_TOKEN_FILE": str(file)}))
    address = address_of("https://github.com/acme/widgets", account)
    assert address is not None
    credential = credential_of(account, address)

    assert credential.token() == "old"
    assert not credential.renew()
    file.write_text("new\n")
    assert credential.renew()
    assert credential.token() == "new"


@pytest.mark.contract("E09", "S03")
@pytest.mark.parametrize("second", ["# rotated by ana", "", "and more"])
def test_a_token_is_the_first_line_of_its_file(tmp_path: Path, second: str) -> None:
    """A note beside it never travels in a header, nor into what a library says of it."""
    file = tmp_path / "token"
    file.write_text(f"canary\r\n{second}\n")
    account = account_of(config.read({"FENCEPOST_GITHUB_TOKEN_FILE": str(file)}))

    assert account.token is not None
    assert account.token.word() == "canary"


@pytest.mark.parametrize("given", ["two words", "t\u00f6ken", "a\x7fb"])
def test_a_token_that_fits_no_header_is_refused_without_being_shown(given: str) -> None:
    """Sent as it is, a library would quote it in its complaint."""
    account = account_of(config.read({"FENCEPOST_GITHUB_TOKEN": given}))

    assert account.token is not None
    with pytest.raises(SecretUnreadable) as refused:
        account.token.word()
    assert given not in str(refused.value)


@pytest.mark.contract("E09")
def test_what_a_library_says_of_a_request_holds_no_credential() -> None:
    """Its complaints may quote the header; rows, logs and people get them without."""
    client = Client("https://api.github.com", as_bearer("cana\nry"))

    with pytest.raises(RemoteUnreadable) as failed:
        client.get("/user")
    with pytest.raises(RemoteUnreadable) as unsent:
        client.write("POST", "/user", {})

    assert "cana" not in str(failed.value) + str(unsent.value)


def minted(github: GitHub, app: dict[str, object], ends_in: float = 3600) -> Minted:
    key = Secret("FENCEPOST_GITHUB_APP_KEY", str(app["private_key"]))
    account = Account(github.api, None, str(app["id"]), key)
    address = address_of(f"{github.url}/{NAME}", account)
    assert address is not None
    credential = credential_of(account, address)
    assert isinstance(credential, Minted)
    return credential


@pytest.mark.contract("G05")
def test_an_app_mints_a_token_for_one_repository_and_keeps_it(github: GitHub) -> None:
    """Just in time, scoped, and once until shortly before it ends."""
    github.door.add_repository("acme/other")
    app = github.door.add_app("fencepost")
    github.door.install_app(app["id"], [NAME, "acme/other"])
    credential = minted(github, app)

    first = credential.token()

    assert credential.token() == first
    assert github.door.count(path="*/access_tokens") == 1
    token = github.world.tokens[first]
    assert token.repositories == {github.door.repo(NAME).id}
    assert credential.renew()
    assert credential.token() != first


@pytest.mark.contract("G05", "Q13")
@pytest.mark.parametrize("ahead", [-600, 600])
def test_an_app_whose_host_has_a_wrong_clock_still_mints(github: GitHub, ahead: float) -> None:
    """GitHub refuses what is signed for another time; its own time is in the refusal."""
    app = github.door.add_app("fencepost")
    github.door.install_app(app["id"], [NAME])
    github.door.advance(ahead)
    credential = minted(github, app)

    assert credential.token() == credential.token()


@pytest.mark.contract("G05")
def test_a_token_that_ends_soon_is_not_used(github: GitHub) -> None:
    """One that would run out within a push is replaced."""
    app = github.door.add_app("fencepost")
    github.door.install_app(app["id"], [NAME], token_seconds=200)
    credential = minted(github, app)

    assert credential.token() != credential.token()


def test_an_app_that_is_not_installed_is_told(github: GitHub) -> None:
    """A person can mend that, and nothing else can."""
    with pytest.raises(ForgeRefused, match="not installed"):
        minted(github, github.door.add_app("fencepost")).token()


def test_a_key_that_is_none_is_told(github: GitHub) -> None:
    """Without a word of what it holds."""
    with pytest.raises(CredentialMissing) as refused:
        minted(github, {"id": 1, "private_key": "canary"}).token()

    assert "canary" not in str(refused.value)


@pytest.mark.contract("G02")
def test_a_renamed_repository_is_found_under_its_new_name(github: GitHub) -> None:
    """A look under the old name would find nothing on the head, and permit a second request."""
    github.door.push(NAME, "work")
    github.door.open_pull(NAME, "work")
    github.door.rename_repository(NAME, "umbrella/gadgets")
    hub = Hub(Account(github.api, Secret("T", github.door.add_token())))

    at = hub.repository(f"{github.url}/{NAME}.git")

    assert (at.root, at.owner) == ("/repos/umbrella/gadgets", "umbrella")


@pytest.mark.contract("G04")
def test_one_limited_call_finds_out_for_all_of_its_process(github: GitHub) -> None:
    """Until the time is over nothing more is sent, not even by another activity's thread."""
    hub = Hub(Account(github.api, Secret("T", github.door.add_token())))
    url = f"{github.url}/{NAME}.git"
    github.door.add_fault("rate_limit", form="retry_after_429", seconds=1, path=f"/repos/{NAME}")

    for _ in range(3):
        with pytest.raises(ForgeLimited):
            hub.repository(url).facts()

    assert github.door.count(path=f"/repos/{NAME}") == 1
    until(lambda: hub_is_free(hub))
    assert hub.repository(url).facts()["full_name"] == NAME


def hub_is_free(hub: Hub) -> bool:
    try:
        hub.check()
    except ForgeLimited:
        return False
    return True
