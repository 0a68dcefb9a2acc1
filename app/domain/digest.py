"""Canonical bytes and their digest.

Canonical bytes are RFC 8785 JSON over strings, integers, booleans, null, lists and objects, every
string in Unicode form NFC. The digest is their SHA-256 in lower-case hex.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NewType, TypeAlias

from app.domain.errors import UnfitInput

Digest = NewType("Digest", str)

Json: TypeAlias = "str | int | bool | None | Sequence[Json] | Mapping[str, Json]"

#: RFC 8785 numbers are IEEE doubles; beyond this an integer would lose digits on the way.
LARGEST = 2**53 - 1


def canonical(value: Json) -> bytes:
    """The one byte form of a JSON value.

    Floats, integers beyond 2**53-1, lone surrogates and keys that are not strings are UnfitInput.
    """
    text = json.dumps(_ordered(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def parse(data: bytes) -> Json:
    """Read canonical bytes back; bytes that are not exactly canonical are UnfitInput."""
    try:
        value: Json = json.loads(data)
        again = canonical(value)
    except (ValueError, RecursionError) as fault:
        raise UnfitInput(f"not canonical JSON: {fault}") from None
    if again != data:
        raise UnfitInput("not canonical JSON: another form of the same value")
    return value


def stored(data: bytes) -> Mapping[str, Json]:
    """Read an object that was canonical when we stored it; `fencepost verify` proves that it is.

    Bytes that are no JSON object are UnfitInput. It takes a fifth of the time of `parse`.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise UnfitInput(f"not JSON: {fault}") from None
    if not isinstance(value, dict):
        raise UnfitInput("not a JSON object")
    return value


def digest(data: bytes) -> Digest:
    """SHA-256 in lower-case hex."""
    return Digest(hashlib.sha256(data).hexdigest())


def digest_of(value: Json) -> Digest:
    """The digest of a value's canonical bytes."""
    return digest(canonical(value))


def text(value: str) -> str:
    """A string fit for canonical bytes: NFC; a lone surrogate becomes U+FFFD."""
    whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", whole)


def _ordered(value: Json) -> Json:
    match value:
        case bool() | None:
            return value
        case str():
            return _string(value)
        case int():
            if abs(value) > LARGEST:
                raise UnfitInput(f"integer out of range: {value}")
            return value
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise UnfitInput("object keys must be strings")
            keys = sorted(value, key=None if "".join(value).isascii() else _units)
            return {_string(key): _ordered(value[key]) for key in keys}
        case list() | tuple():
            return [_ordered(item) for item in value]
        case _:
            raise UnfitInput(f"no canonical form: {type(value).__name__}")


def _units(key: str) -> bytes:
    """The order of RFC 8785; for ASCII it is that of the characters."""
    return key.encode("utf-16-be", "surrogatepass")


def _string(value: str) -> str:
    if value.isascii():
        return value  # most are, and nothing below can be wrong with them
    if not unicodedata.is_normalized("NFC", value):
        raise UnfitInput("string is not in Unicode form NFC")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnfitInput("string holds a lone surrogate") from None
    return value
