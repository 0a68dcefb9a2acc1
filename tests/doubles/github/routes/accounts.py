"""Who one is, and how much one may still ask."""

from __future__ import annotations

from doubles.github.access import actor
from doubles.github.exchange import Answer, Call, Refused
from doubles.github.shapes.account import own_profile, profile


def get_user(call: Call) -> Answer:
    """The account behind a personal token; an App has none."""
    one = actor(call)
    if call.token is not None and call.token.kind == "installation":
        raise Refused(403, "Resource not accessible by integration")
    return Answer(200, own_profile(call.github.url, one))


def get_account(call: Call) -> Answer:
    """Anybody's account."""
    one = call.world.users.get(call.values["username"])
    if one is None:
        raise Refused(404, "Not Found")
    return Answer(200, profile(call.github.url, one))


def rate_limit(call: Call) -> Answer:
    """The limits; asking costs nothing."""
    core = call.github.budget(call.token)
    other = {**core, "limit": 30, "used": 0, "remaining": 30}
    return Answer(200, {"resources": {"core": core, "search": other}, "rate": core})


ROUTES = [
    ("GET", "/user", get_user),
    ("GET", "/users/{username}", get_account),
    ("GET", "/rate_limit", rate_limit),
]
