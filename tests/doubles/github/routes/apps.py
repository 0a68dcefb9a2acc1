"""GitHub Apps: a signed token of one's own buys tokens for an installation."""

from __future__ import annotations

import json
import secrets
from typing import Any

import jwt
from doubles.github.access import LEVELS, credential, repository_of
from doubles.github.exchange import Answer, Call, Refused
from doubles.github.paging import page
from doubles.github.shapes.account import app as app_shape
from doubles.github.shapes.account import installation as shape
from doubles.github.shapes.repository import repository as repository_shape
from doubles.github.world import App, Installation, Token, stamp

LONGEST_LIFE, DRIFT = 600, 60


def app_of(call: Call) -> App:
    """The App that signed the token; 401 for anything else."""
    scheme = call.request.headers.get("authorization", "").partition(" ")[0].lower()
    secret = credential(call.request)
    if secret is None or scheme != "bearer" or secret.count(".") != 2:
        raise Refused(401, "A JSON web token could not be decoded")
    try:
        claims = jwt.decode(secret, options={"verify_signature": False})
    except jwt.InvalidTokenError:
        raise Refused(401, "A JSON web token could not be decoded") from None
    now = call.world.clock.now()
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(expires, int | float) or expires <= now:
        raise Refused(401, "'Expiration time' claim ('exp') must be a numeric value representing "
                      "the future time at which the assertion expires")  # fmt: skip
    if expires > now + LONGEST_LIFE + DRIFT:
        raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
    if not isinstance(issued, int | float) or issued > now + DRIFT:
        raise Refused(401, "'Issued at' claim ('iat') must be an Integer representing the time "
                      "that the assertion was issued")  # fmt: skip
    for app in call.world.apps.values():
        if str(claims.get("iss")) in {str(app.id), app.client_id}:
            return verified(app, secret)
    raise Refused(404, "Integration not found")


def verified(app: App, secret: str) -> App:
    """The App, once its key has vouched for the token."""
    keep = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False}
    try:
        jwt.decode(secret, app.public_key, algorithms=["RS256"], options=keep)
    except (jwt.InvalidTokenError, json.JSONDecodeError):
        raise Refused(401, "A JSON web token could not be decoded") from None
    return app


def get_app(call: Call) -> Answer:
    """The App itself."""
    return Answer(200, app_shape(call.github.url, app_of(call)))


def list_installations(call: Call) -> Answer:
    """Where the App is installed."""
    app = app_of(call)
    found = [each for each in call.world.installations.values() if each.app is app]
    return page(call, None, [shown(call, each) for each in found])


def shown(call: Call, one: Installation) -> dict[str, Any]:
    """An installation as the API shows it."""
    return shape(call.github.url, one, call.world.clock.now())


def get_installation(call: Call) -> Answer:
    """One by id."""
    return Answer(200, shown(call, installation_of(call)))


def installation_of(call: Call) -> Installation:
    """The installation of the path, if it is the App's own."""
    app, text = app_of(call), call.values["installation_id"]
    one = call.world.installations.get(int(text)) if text.isdigit() else None
    if one is None or one.app is not app:
        raise Refused(404, "Not Found")
    return one


def repository_installation(call: Call) -> Answer:
    """The installation that reaches a repository."""
    app = app_of(call)
    for one in call.world.installations.values():
        call.token = Token("", "", app.bot, "installation", {}, one.repositories)
        if one.app is app:
            repo = repository_of(call)
            if repo.id in one.repositories:
                return Answer(200, shown(call, one))
    raise Refused(404, "Not Found")


def account_installation(call: Call) -> Answer:
    """The installation on an account."""
    app = app_of(call)
    for one in call.world.installations.values():
        if one.app is app and one.account.login in call.values.values():
            return Answer(200, shown(call, one))
    raise Refused(404, "Not Found")


def create_token(call: Call) -> Answer:
    """A token for an hour, for no more than the installation was given."""
    one, fields = installation_of(call), call.request.fields()
    if one.is_suspended:
        raise Refused(403, "This installation has been suspended")
    permissions: dict[str, str] = fields.get("permissions") or one.permissions
    for name, level in permissions.items():
        if LEVELS.get(level, 9) > LEVELS[one.permissions.get(name, "none")] and name != "metadata":
            message = "The permissions requested are not granted to this installation."
            raise Refused(422, message)
    repositories = chosen(call, one, fields)
    token = Token(
        value=f"ghs_{secrets.token_hex(18)}",
        name=f"installation-{one.id}",
        user=one.app.bot,
        kind="installation",
        permissions=dict(permissions),
        repositories=repositories,
        expires_at=call.world.clock.now() + one.token_seconds,
        installation=one,
    )
    call.world.tokens[token.value] = token
    body: dict[str, Any] = {
        "token": token.value,
        "expires_at": stamp(token.expires_at),
        "permissions": {**token.permissions, "metadata": "read"},
        "repository_selection": "selected",
    }
    if "repositories" in fields or "repository_ids" in fields:
        rows = [call.world.repositories[each] for each in sorted(repositories)]
        body["repositories"] = [repository_shape(call.github.url, each) for each in rows]
    return Answer(201, body, stored=True)


def chosen(call: Call, one: Installation, fields: dict[str, Any]) -> set[int]:
    """The repositories asked for, all of which the installation must have."""
    if "repositories" not in fields and "repository_ids" not in fields:
        return set(one.repositories)
    names = {call.world.repositories[each].name: each for each in one.repositories}
    asked = {names.get(name, -1) for name in fields.get("repositories", [])}
    asked |= set(fields.get("repository_ids", []))
    if asked - one.repositories:
        raise Refused(422, "There is at least one repository that does not exist or is not "
                      "accessible to the parent installation.")  # fmt: skip
    return asked


def list_repositories(call: Call) -> Answer:
    """What the installation token reaches."""
    if call.token is None or call.token.installation is None:
        raise Refused(403, "Resource not accessible by personal access token")
    found = [call.world.repositories[each] for each in sorted(call.token.repositories or ())]
    rows = [repository_shape(call.github.url, each, call.token) for each in found]
    return page(call, None, rows, "repositories")


def revoke_token(call: Call) -> Answer:
    """The end of the token that asks."""
    if call.token is None or call.token.installation is None:
        raise Refused(403, "Resource not accessible by personal access token")
    call.token.is_revoked = True
    return Answer(204, stored=True)


ONE = "/app/installations/{installation_id}"
ROUTES = [
    ("GET", "/app", get_app),
    ("GET", "/app/installations", list_installations),
    ("GET", ONE, get_installation),
    ("POST", f"{ONE}/access_tokens", create_token),
    ("GET", "/repos/{owner}/{repo}/installation", repository_installation),
    ("GET", "/orgs/{org}/installation", account_installation),
    ("GET", "/users/{username}/installation", account_installation),
    ("GET", "/installation/repositories", list_repositories),
    ("DELETE", "/installation/token", revoke_token),
]
#: routes that take a signed token of the App itself
BY_APP = frozenset({get_app, list_installations, get_installation, create_token,
                    repository_installation, account_installation})  # fmt: skip
