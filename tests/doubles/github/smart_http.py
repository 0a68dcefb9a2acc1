"""Git over HTTP: authentication and rules of ours, everything else `git http-backend`."""

from __future__ import annotations

import gzip
import re
import subprocess
from typing import TYPE_CHECKING

from doubles.github import push as pushes
from doubles.github import rules
from doubles.github.access import credential, holds, live_token, sees
from doubles.github.exchange import Answer, Request
from doubles.github.plumbing import ENVIRONMENT
from doubles.github.world import Repository, Token

if TYPE_CHECKING:
    from doubles.github.server import GitHub

PATH = re.compile(
    r"/(?P<name>[^/]+/[^/]+?)(?:\.git)?/(?P<what>info/refs|git-upload-pack|git-receive-pack)"
)
WRONG = "Invalid username or token. Password authentication is not supported for Git operations.\n"


def answer(github: GitHub, request: Request) -> Answer:
    """Answer one request of git; what was refused says why on a `remote:` line."""
    match = PATH.fullmatch(request.path)
    if match is None:
        return say(404, "Not Found\n")
    token, wrong = identify(github, request)
    if wrong:
        return say(401, WRONG, {"WWW-Authenticate": 'Basic realm="GitHub"'})
    repo = github.world.find(match["name"])
    if repo is None:
        return elsewhere(github, request, match["name"], token)
    is_push = "git-receive-pack" in (match["what"], request.query.get("service"))
    refused = refuse(token, repo, is_push)
    if refused is not None:
        return refused
    body = request.body
    if request.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    if match["what"] == "git-receive-pack":
        return receive(github, request, repo, match["what"], body)
    return backend(repo, request, match["what"], body)


def identify(github: GitHub, request: Request) -> tuple[Token | None, bool]:
    """The token, and whether wrong credentials were given."""
    secret = credential(request)
    if secret is None:
        return None, False
    token = live_token(github.world, secret)
    return token, token is None


def elsewhere(github: GitHub, request: Request, name: str, token: Token | None) -> Answer:
    """A renamed repository redirects, as long as the token may know of it."""
    moved = github.world.renamed(name)
    if moved is None or not sees(token, moved):
        return unseen(token)
    rest = request.path.partition(".git/")[2] or request.path.split("/", 3)[3]
    query = f"?{request.query_string}" if request.query_string else ""
    return Answer(301, b"", {"Location": f"{github.url}/{moved.full_name}.git/{rest}{query}"})


def refuse(token: Token | None, repo: Repository, is_push: bool) -> Answer | None:
    """The refusal of a token that may not; None when it may."""
    if not sees(token, repo):
        return unseen(token)
    level = "write" if is_push else "read"
    if holds(token, repo, "contents", level):
        return None
    if token is None:
        return unseen(token)
    return say(403, "Write access to repository not granted.\n" if is_push else "Forbidden\n")


def unseen(token: Token | None) -> Answer:
    """Without credentials GitHub asks for some; with them there is nothing."""
    if token is None:
        return say(401, "No anonymous access.\n", {"WWW-Authenticate": 'Basic realm="GitHub"'})
    return say(404, "Repository not found.\n")


def say(status: int, text: str, headers: dict[str, str] | None = None) -> Answer:
    """A text that git shows."""
    kind = {"Content-Type": "text/plain; charset=UTF-8"}
    return Answer(status, text.encode(), {**kind, **(headers or {})})


def receive(github: GitHub, request: Request, repo: Repository, what: str, body: bytes) -> Answer:
    """Take a push, unless a rule says no; the forge then looks at what has changed."""
    push = pushes.read(body)
    asked = [{"old": old, "new": new, "ref": ref} for old, new, ref in push.updates]
    with github.world.lock:
        refused = rules.refusals(github.url, repo, push.updates)
    refused = refused or pushes.secrets(github.url, repo, push)
    if refused:
        kind = {"Content-Type": "application/x-git-receive-pack-result"}
        note = {"asked": asked, "taken": []}
        return Answer(200, pushes.refuse(push, refused), kind, note=note)
    answer = backend(repo, request, what, body)
    taken = pushes.taken(push, answer.content())
    github.pushed(repo, taken)
    answer.stored = any(old != new for old, new, _ in taken)
    answer.note = {"asked": asked, "taken": [ref for _, _, ref in taken]}
    return answer


def backend(repo: Repository, request: Request, what: str, body: bytes) -> Answer:
    """What `git http-backend` answers."""
    environment = {
        **ENVIRONMENT,
        "GIT_PROJECT_ROOT": str(repo.git_dir.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "PATH_INFO": f"/{repo.git_dir.name}/{what}",
        "QUERY_STRING": request.query_string,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_USER": "somebody",
        "REMOTE_ADDR": "127.0.0.1",
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
    }
    done = subprocess.run(
        ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(
        row.split(": ", 1) for row in head.decode("latin-1").split("\r\n") if ": " in row
    )
    status = int(headers.pop("Status", "200").split()[0])
    return Answer(status, content, headers)
