"""The wire format of a push: reading what is asked, and saying no as GitHub does."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from doubles.github.plumbing import ENVIRONMENT
from doubles.github.rules import SUMMARIES, ZERO, Refusal, said
from doubles.github.world import Repository

FLUSH = b"0000"


@dataclass(frozen=True)
class Push:
    """The commands of a push, its capabilities, and the pack behind them."""

    updates: list[tuple[str, str, str]]  #: old, new, ref
    capabilities: frozenset[str]
    pack: bytes

    @property
    def is_atomic(self) -> bool:
        return "atomic" in self.capabilities


def line(data: bytes) -> bytes:
    """One pkt-line."""
    return f"{len(data) + 4:04x}".encode() + data


def read(body: bytes) -> Push:
    """What the client asks for; without commands it was a probe."""
    updates: list[tuple[str, str, str]] = []
    capabilities: frozenset[str] = frozenset()
    at = 0
    while at + 4 <= len(body):
        size = int(body[at : at + 4], 16)
        if size < 4:
            at += 4
            break
        text, _, extra = body[at + 4 : at + size].partition(b"\0")
        at += size
        if extra:
            capabilities = frozenset(extra.decode().split())
        parts = text.decode().rstrip("\n").split(" ", 2)
        if len(parts) == 3:
            updates.append((parts[0], parts[1], parts[2]))
    return Push(updates, capabilities, body[at:])


def refuse(push: Push, refused: list[Refusal]) -> bytes:
    """The answer to a push of which nothing is taken."""
    by_ref = {each.ref: each.summary for each in refused}
    others = "atomic push failure" if push.is_atomic else SUMMARIES["hook"]
    report = line(b"unpack ok\n")
    for _, _, ref in push.updates:
        report += line(f"ng {ref} {by_ref.get(ref, others)}\n".encode())
    report += FLUSH
    if "side-band-64k" not in push.capabilities:
        return report
    text = "".join(dict.fromkeys(each.text for each in refused)).encode()
    said = line(b"\x02" + text) if text else b""
    return said + line(b"\x01" + report) + FLUSH


def taken(push: Push, answer: bytes) -> list[tuple[str, str, str]]:
    """The commands that the answer reports as done."""
    done = {match.decode() for match in re.findall(rb"[0-9a-f]{4}ok (\S+)\n", answer)}
    return [update for update in push.updates if update[2] in done]


def secrets(base: str, repo: Repository, push: Push) -> list[Refusal]:
    """Push protection: refuses what brings an object that holds a forbidden text."""
    rules = [rule for rule in repo.rules if rule.reason == "secrets" and rule.text]
    if not rules or not push.pack:
        return []
    contents = brought(repo.git_dir, push)
    for rule in rules:
        if rule.text.encode() in contents:
            refs = [ref for _, new, ref in push.updates if new != ZERO]
            text = said(base, repo, rule, refs[0], "update")
            return [Refusal(ref, SUMMARIES["secrets"], text) for ref in refs]
    return []


def brought(git_dir: Path, push: Push) -> bytes:
    """Every object of the pack, unpacked beside the repository."""
    with tempfile.TemporaryDirectory(dir=git_dir.parent) as folder:
        environment = {
            **ENVIRONMENT,
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git_dir / "objects"),
        }
        run = ["git", "-c", "safe.directory=*", f"--git-dir={git_dir}"]
        subprocess.run(
            [*run, "unpack-objects", "-q"],
            input=push.pack, env=environment, check=True, capture_output=True,
        )  # fmt: skip
        names = [
            part + name
            for part in sorted(os.listdir(folder))
            if len(part) == 2
            for name in os.listdir(Path(folder, part))
        ]
        return subprocess.run(
            [*run, "cat-file", "--batch"],
            input="\n".join(names).encode(), env=environment, check=True, capture_output=True,
        ).stdout  # fmt: skip
