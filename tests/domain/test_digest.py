"""Canonical bytes: one form for one value, and nothing that could have two."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.digest import LARGEST, canonical, digest, parse, stored, text
from app.domain.errors import UnfitInput
from app.domain.identity import ActivityKey, EntityId, dispatch_id, operation_id

strings = st.text(st.characters(exclude_categories=["Cs"])).map(text)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | strings,
    lambda inner: st.lists(inner) | st.dictionaries(strings, inner),
)


@given(values)
def test_canonical_bytes_read_back_as_the_same_value(value):
    """What is recorded is what was meant, and its bytes are the only ones."""
    assert parse(canonical(value)) == value
    assert canonical(parse(canonical(value))) == canonical(value)


def test_keys_are_ordered_by_utf_16_units():
    """As RFC 8785 wants it: the order of JavaScript's strings, not of code points."""
    value = {"\ufffd": 1, "\U0001f600": 2, "\u20ac": 3, "\r": 4, "1": 5, "\u00f6": 6}

    data = canonical(value).decode()

    assert data == '{"\\r":4,"1":5,"\u00f6":6,"\u20ac":3,"\U0001f600":2,"\ufffd":1}'


def test_control_characters_have_their_short_form_or_none():
    """Escapes as JSON.stringify writes them."""
    assert canonical('\b\t\n\f\r"\\\x00\x1f\x7f/') == b'"\\b\\t\\n\\f\\r\\"\\\\\\u0000\\u001f\x7f/"'


@pytest.mark.parametrize(
    "value", [1.0, float("nan"), 2**53, "e\u0301", "\ud800", {1: 2}, b"x", [object()]]
)
def test_what_has_no_single_form_is_refused(value):
    """Two readers must never disagree about a digest."""
    with pytest.raises(UnfitInput):
        canonical(value)


@pytest.mark.parametrize(
    "data", [b"{ }", b'{"b":1,"a":2}', b'{"a":1,"a":1}', b"1.0", b"", b"\xff", b"[" * 100_000]
)
def test_other_bytes_of_the_same_value_are_refused(data):
    """A result is recovered byte for byte or not at all."""
    with pytest.raises(UnfitInput):
        parse(data)


def test_text_makes_any_string_fit():
    """Names from outside come in any form; what is stored has one."""
    assert text("e\u0301 \ud800 \udc80") == "\u00e9 \ufffd \ufffd"


def test_a_digest_is_the_sha_256_of_the_bytes():
    """As everybody else computes it."""
    assert digest(b"abc").startswith("ba7816bf8f01cfea414140de5dae2223")


@pytest.mark.contract("A01")
def test_dispatch_ids_are_the_seeds():
    """sha256("entity:sequence"), lower-case hex, counted from 1."""
    assert dispatch_id(EntityId(7), 1) == hashlib.sha256(b"7:1").hexdigest()


@pytest.mark.contract("A01", "M14", "M15")
def test_operation_ids_cover_world_and_kind():
    """The same local id in two worlds, or of two kinds, names two provider operations."""
    keys = [ActivityKey(w, k, "id") for w in ("w1", "w2") for k in ("missions.author", "x.y")]

    assert len({operation_id(key, "local:r") for key in keys}) == 4


@pytest.mark.parametrize("data", [b"", b"[1]", b'"text"', b"\xff", b"{"])
def test_what_is_stored_is_an_object_or_refused(data: bytes) -> None:
    """Bytes that somebody changed are found by their form, if by nothing else before `verify`."""
    with pytest.raises(UnfitInput):
        stored(data)
