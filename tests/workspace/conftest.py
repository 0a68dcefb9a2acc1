"""Real repositories and checkouts for the tests of the workspace."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.domain.digest import canonical
from app.domain.identity import (
    ActivityId,
    ActivityKey,
    Claim,
    ClaimToken,
    Fence,
    Kind,
    OperationId,
    WorldId,
    operation_id,
)
from app.repository.git import git
from app.repository.remote import Remote
from workers.workspace.checkout import Checkout, open_checkout
from workers.workspace.commit import Author

SOMEBODY = {
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.invalid",
    "GIT_AUTHOR_DATE": "@1600000000 +0000",
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.invalid",
    "GIT_COMMITTER_DATE": "@1600000000 +0000",
}


class Upstream:
    """A bare repository, and a hand on it that is not ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = str(path)
        self.remote = Remote(self.url)
        self.objects = path / "objects"
        git("init", "--quiet", "--bare", "--initial-branch=main", "--template=", str(path))

    def git(self, *arguments: str, stdin: bytes = b"", **extra: str) -> str:
        """Run git on it, as somebody else would; names that git would refuse are let in."""
        odd = ("-c", "core.protectNTFS=false")
        return git(*odd, *arguments, git_dir=self.path, stdin=stdin, extra=SOMEBODY | extra)

    def commit(self, files: Mapping[bytes, tuple[str, bytes]], parent: str | None = None) -> str:
        """A commit whose tree is exactly these files: path → (mode, content or linked commit)."""
        rows = b""
        for path, (mode, content) in files.items():
            known = content.decode() if mode == "160000" else self.blob(content)
            rows += f"{mode} {known}\t".encode() + path + b"\0"
        index = self.path / "somebody-index"
        index.unlink(missing_ok=True)
        self.git("update-index", "-z", "--index-info", stdin=rows, GIT_INDEX_FILE=str(index))
        tree = self.git("write-tree", "--missing-ok", GIT_INDEX_FILE=str(index))
        above = ("-p", parent) if parent else ()
        return self.git("commit-tree", tree, *above, "-m", "a commit")

    def blob(self, content: bytes) -> str:
        """The id of a stored blob."""
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def point(self, ref: str, commit: str) -> None:
        """Set a ref."""
        self.git("update-ref", ref, commit)

    def drop(self, ref: str) -> None:
        """Delete a ref."""
        self.git("update-ref", "-d", ref)

    def tip(self, ref: str) -> str | None:
        """Where a ref is."""
        return self.git("for-each-ref", "--format=%(objectname)", ref) or None

    def hook(self, name: str, script: str) -> None:
        """Install a hook."""
        file = self.path / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


FILES: dict[bytes, tuple[str, bytes]] = {
    b"README.md": ("100644", b"hello\n"),
    b"src/a.py": ("100644", b"a = 1\n"),
    b"src/deep/b.py": ("100644", b"b = 1\n"),
    b"docs/guide.md": ("100644", b"guide\n"),
    b"run.sh": ("100755", b"#!/bin/sh\n"),
    b".gitignore": ("100644", b"*.log\nbuild/\n"),
    b"kept.log": ("100644", b"tracked although ignored\n"),
}


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    """A bare repository without a commit."""
    return Upstream(tmp_path / "upstream.git")


@pytest.fixture
def another(tmp_path: Path) -> Callable[[str], Upstream]:
    """Make one more bare repository, beside the first."""
    return lambda name: Upstream(tmp_path / name)


class Serve(BaseHTTPRequestHandler):
    """Git over HTTP, run by a server with a configuration of its own: hooks do run there."""

    root: Path

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        self._answer(body or self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "pusher",
            },
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().splitlines()]
        status = next((value for name, value in lines if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *parts: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(upstream: Upstream) -> Iterator[str]:
    """The address of the bare repository behind a real git server."""
    upstream.git("config", "http.receivepack", "true")
    handler = type("Handler", (Serve,), {"root": upstream.path.parent})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{upstream.path.name}"
        server.shutdown()
        thread.join()


@pytest.fixture
def files() -> dict[bytes, tuple[str, bytes]]:
    """The files of the first commit, to begin another one with."""
    return dict(FILES)


@pytest.fixture
def base(upstream: Upstream) -> str:
    """A first commit with a few files, on main."""
    sha = upstream.commit(FILES)
    upstream.point("refs/heads/main", sha)
    return sha


@pytest.fixture
def checkout(tmp_path: Path, upstream: Upstream, base: str) -> Iterator[Checkout]:
    """A checkout of the first commit that shares the bare repository's objects."""
    folder = tmp_path / "checkouts"
    with open_checkout(folder, "a1-author-1", upstream.remote, base, upstream.objects) as opened:
        yield opened


@pytest.fixture
def author() -> Author:
    """The author of an attempt's commits."""
    return Author("Fencepost", "worker@fencepost.invalid", 1_700_000_000)


@pytest.fixture
def claim() -> Callable[..., Claim]:
    """Make a claim as the database would have given it."""

    def make(fence: int = 1, token: str = "first", activity: str = "ab" * 32) -> Claim:
        key = ActivityKey(WorldId("w1"), Kind("missions.author"), ActivityId(activity))
        return Claim(key, Fence(fence), ClaimToken(token))

    return make


@pytest.fixture
def operation(claim: Callable[..., Claim]) -> OperationId:
    """The provider's name of the claims' activity."""
    return operation_id(claim().key, "git")


@pytest.fixture
def observation() -> bytes:
    """Canonical bytes, not all of them ASCII."""
    return canonical({"says": "grüße", "green": True, "count": 3})


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for a condition, for at most ten seconds."""

    def wait(condition: Callable[[], object], seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "the condition never held"
            time.sleep(0.01)

    return wait
