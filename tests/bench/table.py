"""Numbers as people read them: percentiles, and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of all lies; NaN of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def milliseconds(values: Sequence[float]) -> str:
    """Seconds as `p50 / p95 / p99` in milliseconds."""
    if not values:
        return "–"
    return " / ".join(f"{percentile(values, share) * 1000:.1f}" for share in (0.5, 0.95, 0.99))


def show(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that can be pasted into a page."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, ["-" * width for width in widths], *cells):
        line = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {line} |", flush=True)
