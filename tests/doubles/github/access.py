"""Who asks, and what they may do here."""

from __future__ import annotations

import base64
import binascii

from doubles.github.exchange import Call, Refused, Request
from doubles.github.world import Repository, Token, User, World

LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}


def credential(request: Request) -> str | None:
    """The secret that came in the Authorization header, whatever its scheme."""
    scheme, _, rest = request.headers.get("authorization", "").strip().partition(" ")
    match scheme.lower():
        case "bearer" | "token":
            return rest.strip()
        case "basic":
            try:
                return base64.b64decode(rest, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return ""
        case "":
            return None
        case _:
            return ""


def live_token(world: World, secret: str) -> Token | None:
    """The token, unless it has expired or was revoked."""
    token = world.tokens.get(secret)
    if token is None or token.is_revoked:
        return None
    if token.expires_at is not None and token.expires_at <= world.clock.now():
        return None
    if token.installation is not None and token.installation.is_suspended:
        return None
    return token


def authenticate(world: World, request: Request) -> Token | None:
    """The token of a request of the API; None without credentials, 401 with wrong ones."""
    secret = credential(request)
    if secret is None:
        return None
    token = live_token(world, secret)
    if token is None:
        raise Refused(401, "Bad credentials")
    return token


def sees(token: Token | None, repository: Repository) -> bool:
    """Tell whether the repository exists as far as the token goes."""
    return not repository.private or reaches(token, repository)


def reaches(token: Token | None, repository: Repository) -> bool:
    """Tell whether the token was given for this repository."""
    return token is not None and (token.repositories is None or repository.id in token.repositories)


def holds(token: Token | None, repository: Repository, permission: str, level: str) -> bool:
    """Tell whether the token has a permission here."""
    if level == "read" and not repository.private:
        return True
    if token is None or not reaches(token, repository):
        return False
    held = token.permissions.get(permission, "none")
    if permission == "metadata" and token.permissions:
        held = max(held, "read", key=LEVELS.__getitem__)
    return LEVELS[held] >= LEVELS[level]


def repository_of(call: Call) -> Repository:
    """The repository that the path names, if the token may know of it; 301 when it was renamed."""
    world, values = call.world, call.values
    if "repository_id" in values:
        found = world.repositories.get(int(values["repository_id"]))
    else:
        name = f"{values['owner']}/{values['repo']}"
        found = world.find(name)
        moved = None if found else world.renamed(name)
        if moved is not None and sees(call.token, moved):
            raise moved_to(call, moved, name)
    if found is None or not sees(call.token, found):
        raise Refused(404, "Not Found")
    return found


def moved_to(call: Call, moved: Repository, name: str) -> Refused:
    """GitHub sends to the repository by its id; 301 for reads, 307 for everything else."""
    rest = call.request.path.partition(f"/repos/{name}")[2]
    query = f"?{call.request.query_string}" if call.request.query_string else ""
    location = f"{call.github.api}/repositories/{moved.id}{rest}{query}"
    status = 301 if call.request.method in {"GET", "HEAD"} else 307
    message = "Moved Permanently" if status == 301 else "Temporary Redirect"
    refused = Refused(status, message, headers={"Location": location})
    refused.answer.body["url"] = location
    return refused


def require(call: Call, permission: str, level: str) -> Repository:
    """The repository, if the token has one of the permissions (`issues|pull_requests`) on it."""
    repository = repository_of(call)
    names = permission.split("|")
    if any(holds(call.token, repository, name, level) for name in names):
        return repository
    if call.token is None:
        raise Refused(401, "Requires authentication")
    accepted = "; ".join(f"{name}={level}" for name in names)
    raise Refused(
        403,
        f"Resource not accessible by {holder(call.token)}",
        headers={"X-Accepted-GitHub-Permissions": accepted},
    )


def holder(token: Token) -> str:
    """What GitHub calls the kind of a token in its refusals."""
    return "integration" if token.kind == "installation" else "personal access token"


def actor(call: Call) -> User:
    """The account behind the token."""
    if call.token is None:
        raise Refused(401, "Requires authentication")
    return call.token.user
