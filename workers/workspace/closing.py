"""What is let go at the end of its `with`."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Is its own context, and is closed when that ends, however it ends."""

    __slots__ = ()

    def close(self) -> None:
        """Let go; doing so again does nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
