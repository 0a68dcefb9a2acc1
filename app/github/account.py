"""How this installation comes to GitHub: the API's address, and what proves who it is there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from app.config import Secret, Settings, SettingUnfit
from app.domain.errors import SetupError

#: How long GitHub's listing may be behind what it has stored (G02).
SETTLE = timedelta(seconds=60)
#: How long after a request was opened its checks may begin to appear.
CHECKS_GRACE = timedelta(seconds=60)


class CredentialMissing(SetupError):
    """A repository lives at GitHub, and this process has nothing that proves who it is there."""

    code = "credential_missing"
    hint = (
        "set FENCEPOST_GITHUB_TOKEN, or FENCEPOST_GITHUB_APP and its key, for dispatcher and "
        "workers too, and start them again"
    )


@dataclass(frozen=True, slots=True)
class Account:
    """One GitHub, and who we are there: by a token, or as an App; by neither it is not used."""

    api: str  #: address of its API
    token: Secret | None = None
    app: str | None = None  #: id of the App
    key: Secret | None = None  #: of the App
    settle: timedelta = SETTLE
    checks_grace: timedelta = CHECKS_GRACE

    @property
    def is_set(self) -> bool:
        """Whether there is a credential at all."""
        return self.token is not None or self.app is not None

    @property
    def scheme(self) -> str:
        return urlsplit(self.api).scheme

    @property
    def host(self) -> str:
        """Where its repositories are: `api.github.com` serves those of `github.com`."""
        return urlsplit(self.api).netloc.lower().removeprefix("api.")


def account_of(settings: Settings) -> Account:
    """Who we are, by the settings; SettingUnfit for half an App, and for a token beside one."""
    app, key, token = settings.github_app, settings.github_app_key, settings.github_token
    if (app is None) != (key is None):
        raise SettingUnfit(
            "an App is its id and its key: FENCEPOST_GITHUB_APP, FENCEPOST_GITHUB_APP_KEY",
            hint="set both, or neither",
        )
    if app is not None and token is not None:
        raise SettingUnfit(
            "FENCEPOST_GITHUB_TOKEN and FENCEPOST_GITHUB_APP are both set", hint="unset one of them"
        )
    return Account(
        settings.github_url, token, app, key, settings.github_settle or SETTLE,
        CHECKS_GRACE if settings.checks_grace is None else settings.checks_grace,
    )  # fmt: skip
