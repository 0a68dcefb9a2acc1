"""The forms in which a value that is secret may be met: as it is, escaped, or encoded."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote, urlsplit

from app.domain.redaction import Form

LEAST = 8  #: signs; what is shorter stands in too many words to be left out of them
STRONG = 16  #: signs; what is longer nobody writes by chance
_PIECE = 256  #: signs; of a longer value its pieces are looked for
_LEAST_ENCODED = 8  #: bytes


def forms(name: str, value: str) -> list[Form]:
    """What to look for, the longest first; of a URL only its password is secret.

    A value of several lines, like a key in PEM, is looked for by its lines.
    """
    found: dict[bytes, Form] = {}
    for told, secret in _secrets(name, value):
        for piece in _pieces(secret):
            for form in _written(piece):
                found[form] = Form(told, form, is_strong=len(piece) >= STRONG)
    return sorted(found.values(), key=lambda form: -len(form.bytes))


def _secrets(name: str, value: str) -> Iterator[tuple[str, str]]:
    told = name.removeprefix("FENCEPOST_").lower().replace("_", "-")
    if "://" not in value:
        yield told, value
        return
    try:
        parts = urlsplit(value.strip())
        login, password = parts.username or "", parts.password or ""
    except ValueError:
        yield told, value
        return
    told = f"{told.removesuffix('-url')}-password"
    for one in {password, unquote(password)}:
        if one != unquote(login):
            yield told, one


def _pieces(secret: str) -> Iterator[str]:
    for line in map(str.strip, secret.splitlines()):
        if len(line) < LEAST or line.startswith("-----"):
            continue
        for start in range(0, len(line), _PIECE):
            yield line[min(start, len(line) - LEAST) : start + _PIECE]


def _written(piece: str) -> set[bytes]:
    plain = piece.encode("utf-8", "surrogateescape")
    words = {piece, quote(piece, safe=""), quote(piece), quote_plus(piece)}
    words |= {_small(word) for word in words}
    for word in (piece, piece.replace("/", "\\/")):
        once = json.dumps(word)[1:-1].replace("\\\\/", "\\/")
        words |= {once, json.dumps(word, ensure_ascii=False)[1:-1], json.dumps(once)[1:-1]}
    found = {word.encode("utf-8", "surrogateescape") for word in words} | {plain}
    return found | {form for form in _encoded(plain) if len(form) >= _LEAST_ENCODED}


def _encoded(plain: bytes) -> Iterator[bytes]:
    """In hexadecimal, and what Base64 makes of it wherever in a longer text it stands."""
    yield plain.hex().encode()
    yield plain.hex().upper().encode()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + plain)
        # the first sign shares its bits with what is before, the last one with what follows
        own = whole[(before * 8 + 5) // 6 : (before + len(plain)) * 8 // 6]
        yield own
        yield own.translate(bytes.maketrans(b"+/", b"-_"))
        yield own.replace(b"+", b"%2B").replace(b"/", b"%2F")


def _small(word: str) -> str:
    """The same with small letters after each per cent sign."""
    first, *rest = word.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])
