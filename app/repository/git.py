"""Running git so that neither the host's nor a repository's configuration has a say."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from app.domain.errors import GitCannotWrite, GitFailed

_CONFIG = Path(__file__).with_name("gitconfig")
_INHERITED = ("PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", "GIT_SSL_CAINFO")
_USERS_OWN = (
    "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "GIT_SSH", "GIT_SSH_COMMAND", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
)  # fmt: skip
#: An include on the command line is read last: what ours forbids, the user's cannot allow.
_AFTER_THE_USER = ("-c", f"include.path={_CONFIG}", "-c", "core.askPass=")
#: What git says where the host fails it; a checkout's "unable to write file" tells no more.
_NO_ROOM = (
    b"No space left on device", b"Disk quota exceeded", b"Read-only file system",
    b"unable to write file ",
)  # fmt: skip
_LOOK = 0.1  #: seconds between two looks at the wish to stop
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh:git",
}


class GitTooSlow(GitFailed):
    """A git command was killed, since it did not end in its time."""


class Interrupted(Exception):
    """Whoever asked does not want the answer any more; the command was killed, and it has none."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A git command that ran to its end."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Standard output without its last newline; undecodable bytes survive as surrogates."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")

    @property
    def complaint(self) -> str:
        """What git says that it failed of, or the last line of standard error; for people."""
        lines = self.err.decode("utf-8", "replace").strip().splitlines()
        fatal = [line for line in lines if line.startswith("fatal: ")]
        return next(iter([*fatal, *lines[-1:]]), f"exit {self.code}")

    @property
    def is_hosts_fault(self) -> bool:
        """Whether git says, of itself and not of the other side, that it could not write here."""
        own = [line for line in self.err.splitlines() if not line.startswith(b"remote:")]
        return any(sign in line for sign in _NO_ROOM for line in own)


def attempt(
    *arguments: str,
    git_dir: Path | None = None,
    work_tree: Path | None = None,
    directory: Path | None = None,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
    timeout: float = 300,
    as_user: bool = False,
    stop: threading.Event | None = None,
    group: int | None = None,
) -> Completed:
    """Run git and return what it said, whatever its exit code; a time-out is GitTooSlow.

    `as_user` is for reaching an address: the user's own configuration names credential helpers and
    rewrites addresses, ours is read after it. There is no terminal to ask on, and a signal to the
    group of whoever runs git does not reach it. With `stop` set it is killed, and that is
    Interrupted: not for what writes to a remote. It joins the process group `group`, or leads one.
    """
    if stop is not None and stop.is_set():
        raise Interrupted
    command = ["git", *(_AFTER_THE_USER if as_user else ()), *arguments]
    environment = (user_environment() if as_user else clean_environment()) | dict(extra or {})
    if git_dir is not None:
        environment["GIT_DIR"] = str(git_dir)
    if work_tree is not None:
        environment["GIT_WORK_TREE"] = str(work_tree)
    with (
        _as_a_file(stdin) as told,
        subprocess.Popen(
            command, cwd=directory or work_tree, env=environment,
            stdin=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=group is None, process_group=group,
        ) as process,
    ):  # fmt: skip
        try:
            out, err = _heard(process, timeout, stop)
        except subprocess.TimeoutExpired:
            raise GitTooSlow(f"git {arguments[0]} did not end within {timeout:g} s") from None
        finally:
            _kill(process, leads=group is None)
    return Completed(process.returncode, out, err)


def _as_a_file(content: bytes) -> IO[bytes]:
    """To be read from its beginning; a pipe would have to be fed while we look elsewhere."""
    file = os.fdopen(os.memfd_create("stdin"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _heard(
    process: subprocess.Popen[bytes], timeout: float, stop: threading.Event | None
) -> tuple[bytes, bytes]:
    until = time.monotonic() + timeout
    while True:
        left = until - time.monotonic()
        try:
            return process.communicate(timeout=left if stop is None else min(left, _LOOK))
        except subprocess.TimeoutExpired:  # what was heard is kept
            if time.monotonic() >= until:
                raise
        if stop is not None and stop.is_set():
            raise Interrupted


def _kill(process: subprocess.Popen[bytes], *, leads: bool) -> None:
    """End one that has not ended, with the helpers that it started."""
    if process.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if leads else process.kill()


def git(
    *arguments: str,
    git_dir: Path | None = None,
    work_tree: Path | None = None,
    directory: Path | None = None,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
    timeout: float = 300,
    as_user: bool = False,
    stop: threading.Event | None = None,
    group: int | None = None,
) -> str:
    """Run git and return its standard output; any other exit code than 0 is GitFailed.

    Where this host had no room left it is GitCannotWrite.
    """
    done = attempt(
        *arguments, git_dir=git_dir, work_tree=work_tree, directory=directory,
        stdin=stdin, extra=extra, timeout=timeout, as_user=as_user, stop=stop, group=group,
    )  # fmt: skip
    if done.code != 0:
        kind = GitCannotWrite if done.is_hosts_fault else GitFailed
        raise kind(f"git {arguments[0]}: {done.complaint}")
    return done.text


def clean_environment() -> dict[str, str]:
    """An allow list of variables, and our own configuration instead of the host's."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return (
        inherited
        | {
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(_CONFIG),
            "GIT_ATTR_NOSYSTEM": "1",
        }
        | _ALWAYS
    )


def user_environment() -> dict[str, str]:
    """The allow list, and what the user's own way to a remote consists of; never interactive."""
    own = {
        name: value for name, value in os.environ.items()
        if name in _INHERITED or name in _USERS_OWN or name.startswith("GIT_CONFIG_")
    }  # fmt: skip
    return {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "GCM_INTERACTIVE": "never"} | own | _ALWAYS
