"""Output is bytes of any kind and length, and safe once it is shown."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest

from app.domain.digest import canonical
from workers.workspace.output import Output, shown

pytestmark = pytest.mark.contract("E05")


def test_keeps_the_end_and_a_proof_of_the_whole():
    """Whatever the chunks are, the tail is the end, and total and digest are of everything."""
    everything = bytes(range(256)) * 50
    output = Output(kept=1000)
    place = 0
    for size in (1, 999, 1000, 1001, 5000, len(everything)):
        output.add(everything[place : place + size])
        place += size

    tail = output.so_far()

    assert tail.tail == everything[-1000:]
    assert (tail.total, tail.sha256) == (len(everything), hashlib.sha256(everything).hexdigest())


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x", "x"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]never closed\nnext", "\nnext"),
        (b"\x1bcx\x1b(By", "xy"),
        (b"a\0b\x07c\x7f", "abc"),
        (b"10%\r20%\r\nend", "10%\n20%\nend"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("e\u0301".encode(), "\u00e9"),
        ("a\u202eb\u2066c".encode(), "abc"),
        ("\u009b31mx\u0085".encode(), "x\n"),
        ("one\u2028two\u2029".encode(), "one\ntwo\n"),
        ("a\u200bb\u200fc\u2060d\U000e0041e".encode(), "abcde"),
        ("\U0001f469\u200d\U0001f4bb".encode(), "\U0001f469\u200d\U0001f4bb"),
        (b"tab\tline\n", "tab\tline\n"),
    ],
)
def test_shows_no_trick(raw, text):
    """Escapes, controls, direction changes and broken UTF-8 do not reach a terminal or a page."""
    assert shown(raw) == text


def test_what_is_shown_fits_canonical_bytes():
    """Any bytes at all, cut anywhere, have a canonical form within the limit."""
    odd = bytes(range(256)) * 40 + "e\u0301ü€😀".encode() * 400

    for cut in range(40):
        text = shown(odd[: len(odd) - cut], limit=999 + cut)
        canonical(text)
        assert unicodedata.is_normalized("NFC", text)
        assert len(text.encode()) <= 999 + cut
