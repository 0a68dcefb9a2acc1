"""What differs between two trees, as a patch for people to read; never applied by anything."""

from __future__ import annotations

from pathlib import Path

from app.repository.git import git


def read_diff(git_dir: Path, base: str, other: str, limit: int) -> tuple[bytes, int]:
    """The first lines of the patch between two trees, and the size of all of it, in bytes.

    It goes through a file, so that a large one is nowhere in memory; of binary and very large
    files it only says that they differ.
    """
    file = git_dir / "fencepost-diff"
    try:
        git(
            "-c", "core.bigFileThreshold=4m", "diff-tree", "-r", "-p", "-M", "-l400", "--no-color",
            "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", f"--output={file}",
            base, other, "--", git_dir=git_dir, timeout=60,
        )  # fmt: skip
        with file.open("rb") as opened:
            beginning, size = opened.read(limit), file.stat().st_size
        # half a line may be half a secret, which nobody recognises
        return beginning if size <= limit else beginning[: beginning.rfind(b"\n") + 1], size
    finally:
        file.unlink(missing_ok=True)
