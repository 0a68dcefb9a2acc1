"""Users and Apps as the API shows them."""

from __future__ import annotations

from typing import Any

from doubles.github.world import App, Installation, User, stamp

EPOCH = "2020-01-01T00:00:00Z"


def user(base: str, one: User) -> dict[str, Any]:
    """A `simple-user`."""
    url = f"{base}/api/v3/users/{one.login}"
    return {
        "login": one.login,
        "id": one.id,
        "node_id": f"U_{one.id}",
        "avatar_url": f"{base}/avatars/u/{one.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{base}/{one.login}",
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": one.kind,
        "site_admin": False,
    }


def profile(base: str, one: User) -> dict[str, Any]:
    """A `public-user`."""
    nothing = ("company", "location", "email", "hireable", "bio", "twitter_username")
    return {
        **user(base, one),
        **dict.fromkeys(nothing),
        "user_view_type": "public",
        "name": one.login,
        "blog": "",
        "public_repos": 0,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": EPOCH,
        "updated_at": EPOCH,
    }


def own_profile(base: str, one: User) -> dict[str, Any]:
    """A `private-user`: what an account sees of itself."""
    numbers = (
        "private_gists", "total_private_repos", "owned_private_repos", "disk_usage", "collaborators"
    )  # fmt: skip
    own = {"user_view_type": "private", "two_factor_authentication": True}
    return {**profile(base, one), **dict.fromkeys(numbers, 0), **own}


def app(base: str, one: App) -> dict[str, Any]:
    """An `integration`."""
    return {
        "id": one.id,
        "client_id": one.client_id,
        "slug": one.slug,
        "node_id": f"A_{one.id}",
        "owner": user(base, one.owner),
        "name": one.slug,
        "description": None,
        "external_url": f"{base}/external/{one.slug}",
        "html_url": f"{base}/apps/{one.slug}",
        "created_at": EPOCH,
        "updated_at": EPOCH,
        "permissions": {"metadata": "read", **one.permissions},
        "events": ["pull_request", "push"],
    }


def installation(base: str, one: Installation, now: float) -> dict[str, Any]:
    """An `installation`."""
    return {
        "id": one.id,
        "account": user(base, one.account),
        "repository_selection": "selected",
        "access_tokens_url": f"{base}/api/v3/app/installations/{one.id}/access_tokens",
        "repositories_url": f"{base}/api/v3/installation/repositories",
        "html_url": f"{base}/organizations/{one.account.login}/settings/installations/{one.id}",
        "app_id": one.app.id,
        "client_id": one.app.client_id,
        "app_slug": one.app.slug,
        "target_id": one.account.id,
        "target_type": one.account.kind,
        "permissions": {"metadata": "read", **one.permissions},
        "events": ["pull_request", "push"],
        "created_at": EPOCH,
        "updated_at": EPOCH,
        "single_file_name": None,
        "suspended_by": user(base, one.account) if one.is_suspended else None,
        "suspended_at": stamp(now) if one.is_suspended else None,
    }
