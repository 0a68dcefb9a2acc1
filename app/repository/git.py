"""Running git so that neither the host's nor a repository's configuration has a say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh:git",
}


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
        """The last line of standard error, for people."""
        lines = self.err.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit {self.code}"

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
) -> Completed:
    """Run git and return what it said, whatever its exit code; a time-out is GitFailed.

    `as_user` is for reaching an address: the user's own configuration names credential helpers and
    rewrites addresses, ours is read after it. There is no terminal to ask on, and a signal to the
    group of whoever runs git does not reach it.
    """
    command = ["git", *(_AFTER_THE_USER if as_user else ()), *arguments]
    environment = (user_environment() if as_user else clean_environment()) | dict(extra or {})
    if git_dir is not None:
        environment["GIT_DIR"] = str(git_dir)
    if work_tree is not None:
        environment["GIT_WORK_TREE"] = str(work_tree)
    try:
        done = subprocess.run(
            command, cwd=directory or work_tree, input=stdin, env=environment,
            capture_output=True, timeout=timeout, check=False, start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {arguments[0]} did not end within {timeout:g} s") from None
    return Completed(done.returncode, done.stdout, done.stderr)


def git(
    *arguments: str,
    git_dir: Path | None = None,
    work_tree: Path | None = None,
    directory: Path | None = None,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
    timeout: float = 300,
    as_user: bool = False,
) -> str:
    """Run git and return its standard output; any other exit code than 0 is GitFailed.

    Where this host had no room left it is GitCannotWrite.
    """
    done = attempt(
        *arguments, git_dir=git_dir, work_tree=work_tree, directory=directory,
        stdin=stdin, extra=extra, timeout=timeout, as_user=as_user,
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
