"""Redaction: no secret leaves, wherever a stream is cut, and what is none stays as it is."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import time
import uuid
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.redaction import Form, Redactor, redacted, redacted_beginning, redacted_end
from app.domain.secret_form import forms
from app.domain.secret_shape import LONGEST

pytestmark = pytest.mark.contract("E09")

BODY = "".join(random.Random(1).choices("ABCDEFabcdef0123456789", k=40))  # no key
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n-----END RSA PRIVATE KEY-----"
SHAPES = {
    f"ghp_{BODY}": "github-token",
    f"gho_{BODY}": "github-token",
    f"ghu_{BODY}": "github-token",
    f"ghs_{BODY}": "github-token",
    f"ghr_{BODY}": "github-token",
    f"github_pat_{BODY}_{BODY}": "github-token",
    f"sk-{BODY}": "openai-key",
    f"sk-proj-{BODY}_-{BODY}": "openai-key",
    f"sk-ant-api03-{BODY}-_{BODY}": "anthropic-key",
    "AKIAIOSFODNN7EXAMPLE": "aws-key",
    f"xoxb-1234567890-{BODY}": "slack-token",
    f"AIza{BODY[:35]}": "google-key",
    f"glpat-{BODY[:20]}": "gitlab-token",
    f"npm_{BODY[:36]}": "npm-token",
    f"pypi-AgEIcHlwaS5vcmc{BODY}": "pypi-token",
    f"fp_{BODY}": "fencepost-token",
    f"eyJ{BODY}.eyJ{BODY}.{BODY}": "jwt",
}
KEPT = {
    f"Authorization: Bearer {BODY}": "authorization",
    "authorization: Basic eHg6eXk=": "authorization",
    f'{{"Authorization": "token {BODY}"}}': "authorization",
    f"aws_secret_access_key = {BODY}": "aws-secret",
    f"AWS_SECRET_ACCESS_KEY={BODY}": "aws-secret",
    f"postgresql://me:{BODY}@host:5432/db": "url-password",
    "redis://:p%40ss@127.0.0.1/0": "url-password",
    f"https://x-access-token:{BODY}@example.org/a.git": "url-password",
}
CANARY = "canary/VALUE+0123456789?abc"
KNOWN = forms("FENCEPOST_OPENAI_API_KEY", CANARY)

pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([*SHAPES, *KEPT, CANARY, CANARY[:9], PEM, PEM[:90]]).map(str.encode),
    st.sampled_from(
        [b"-----BEGIN PRIVATE KEY-----\n", b"ghp_", b"eyJ", b"://u:", b"@", b"\n", b"\r\n", b".",
         b"sk-", b"Bearer ", b"Proc-Type: 4,ENCRYPTED\n", b"  12\t", b"a" * 30, b"\\n", b"\\nsk-",
         b"\x1b[32m", b"a" * 3 * LONGEST, b"A" * 64 + b"\n"]
    ),
)  # fmt: skip
texts = st.lists(pieces, max_size=14).map(b"".join)


def streamed(data: bytes, cuts: list[int], known: list[Form]) -> bytes:
    """The same, in pieces."""
    stream = Redactor(lambda: known)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    taken = [stream.take(data[start:end]) for start, end in pairwise(places)]
    return b"".join(taken) + stream.end()


@given(texts, st.lists(st.integers(0, 2**20), max_size=12))
def test_any_chunks_give_the_same(data: bytes, cuts: list[int]) -> None:
    """Where a stream is cut changes nothing."""
    assert streamed(data, cuts, KNOWN) == redacted(data, KNOWN)


@pytest.mark.parametrize("told", [*SHAPES, *KEPT, PEM, CANARY])
def test_twice_is_once(told: str) -> None:
    """What was redacted may pass a second time."""
    once = redacted(f"it is {told} as ever".encode(), KNOWN)

    assert once != told.encode()
    assert redacted(once, KNOWN) == once


@given(texts, texts, st.sampled_from(KNOWN), st.lists(st.integers(0, 2**20), max_size=12))
def test_a_value_never_survives(before: bytes, after: bytes, form: Form, cuts: list[int]) -> None:
    """Whatever is around it, and wherever the stream is cut."""
    assert form.bytes not in streamed(before + form.bytes + after, cuts, KNOWN)


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize(
    ("before", "after"),
    [("", ""), ("x = '", "'"), ("a ", " b"), ('{"text":"one\\n', '\\n"}'), ("\x1b[32m", "\x1b[0m"),
     ("A=", "\n"), ("(", ")."), ("https://", "@github.com/a")],
)  # fmt: skip
def test_a_shape_is_known_wherever_it_stands(secret: str, before: str, after: str) -> None:
    """In quotes, in JSON, in colour: all of it goes, and nothing around it."""
    told = f"{before}[redacted:{SHAPES[secret]}]{after}"
    assert redacted(f"{before}{secret}{after}".encode()).decode() == told


@pytest.mark.parametrize("told", KEPT)
def test_what_leads_to_a_secret_is_kept(told: str) -> None:
    """Of a header, an assignment or an address only the secret goes."""
    clean = redacted(told.encode()).decode()

    assert f"[redacted:{KEPT[told]}]" in clean
    assert BODY not in clean
    assert clean.split("[redacted:")[0] == told[: len(clean.split("[redacted:")[0])]


@pytest.mark.parametrize("mark", ["", "+", "-", "    ", "> "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\\\\n"])
def test_a_private_key_is_one_secret(mark: str, end: str) -> None:
    """In a file, a diff, a quotation or a string of JSON."""
    mark = mark if "\\" not in end else ""
    told = f"first{end}{mark}" + PEM.replace("\n", f"{end}{mark}") + f"{end}last words here"
    clean = redacted(told.encode()).decode()

    assert BODY not in clean
    assert BODY[::-1] not in clean
    assert clean.endswith(f"{end}last words here")


def test_a_private_key_with_headers_or_numbered_lines_is_one_too() -> None:
    """What stands before its lines, or above them, ends nothing."""
    head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0011\n\n"
    begun, body = PEM.split("\n", 1)
    numbered = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(PEM.split("\n"), 1))

    for told in (f"{begun}\n{head}{body}", numbered):
        clean = redacted(told.encode()).decode()
        assert BODY not in clean
        assert BODY[::-1] not in clean


@pytest.mark.parametrize(
    "told",
    [
        hashlib.sha1(b"x").hexdigest(), hashlib.sha256(b"x").hexdigest(), str(uuid.UUID(int=7)),
        "commit " + hashlib.sha1(b"y").hexdigest(), "task-" + "a" * 40, "risk-" + "b" * 48,
        "npm_config_registry=https://registry.example.org/", "the bearer of bad news",
        "http://localhost:5173/@vite/client", "ssh://git@example.org/a.git", "git@github.com:a/b",
        "Authorization: see below", "sk-fading-circle-large", "ghp_", "a.b.c", "eyJhbGciOi",
        "postgresql:///db?host=/tmp", "http://example.org:8080/a?b=c@d", "AKIAX", "password: x",
        "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode(),
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(told: str) -> None:
    """Hashes, ids, addresses and words are what people read output for."""
    assert redacted(told.encode(), KNOWN).decode() == told


@given(st.integers(0, 2**32))
def test_an_archive_stays(seed: int) -> None:
    """Random bytes, in Base64 of one line or many and in hexadecimal, hold nothing."""
    data = random.Random(seed).randbytes(60_000)  # no key
    for told in (base64.b64encode(data), base64.encodebytes(data), data.hex().encode()):
        assert redacted(told, KNOWN) == told


@pytest.mark.parametrize(
    "encoded",
    [
        CANARY, quote(CANARY), quote(CANARY, safe=""),
        re.sub("%..", lambda sign: sign[0].lower(), quote(CANARY, safe="")),
        json.dumps(CANARY), json.dumps(json.dumps(CANARY)), CANARY.encode().hex(),
        CANARY.encode().hex().upper(), CANARY.replace("/", "\\/"),
        *(base64.b64encode(f"{'x' * n}{CANARY}yz".encode()).decode() for n in range(4)),
        *(base64.urlsafe_b64encode(f"{'x' * n}{CANARY}".encode()).decode() for n in range(4)),
    ],
)  # fmt: skip
def test_a_value_is_known_in_each_form(encoded: str) -> None:
    """Whoever writes it into an address, a header or JSON tells it no more than in plain."""
    clean = redacted(f"a {encoded} b".encode(), KNOWN)

    assert b"[redacted:openai-api-key]" in clean
    assert len(clean) < len("a [redacted:openai-api-key] b") + 12


def test_of_an_address_only_the_password_is_secret() -> None:
    """Both as it stands there and as it is meant; one that is the login's own name is none."""
    url = "postgresql://me:p%40ss%2Fword@h/d"
    found = {one.bytes for one in forms("FENCEPOST_DATABASE_URL", url)}

    assert b"p%40ss%2Fword" in found
    assert b"p@ss/word" in found
    assert not any(b"postgresql" in one or b"@h" in one for one in found)
    assert forms("FENCEPOST_DATABASE_URL", "postgresql://postgres:postgres@h/d") == []
    assert forms("FENCEPOST_TOKEN", "short") == []


def test_a_value_of_many_lines_is_looked_for_by_line() -> None:
    """A key in PEM is found without its first line, and by a part of it."""
    known = forms("FENCEPOST_GITHUB_APP_KEY", PEM)
    assert redacted(f"grep: {BODY}".encode(), known) == b"grep: [redacted:github-app-key]"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_half_a_secret_at_a_cut_is_left_out(cut: int) -> None:
    """Of a longer text neither the first nor the last line is told, where it is half of one."""
    long = b"a line\n" + f"ghp_{BODY}".encode() + b"\nthe last line"

    assert BODY.encode()[-5:] not in redacted_end(long[7 + cut :])
    assert b"ghp_" not in redacted_beginning(long[: 7 + min(cut, 44)])
    assert BODY.encode()[:5] not in redacted_end(PEM.encode()[40 + cut :])


def test_what_never_ends_is_bounded_and_tells_nothing() -> None:
    """Ten megabytes of a private key without an end, and of a line without one."""
    body = base64.b64encode(random.Random(2).randbytes(7_500_000))  # no key
    for text, marks in ((b"-----BEGIN PRIVATE KEY-----" + body, 1), (body, 0)):
        stream, given_back = Redactor(lambda: KNOWN), 0
        for start in range(0, len(text), 65_536):
            given_back += len(stream.take(text[start : start + 65_536]))
            assert len(stream._held) <= 2 * LONGEST  # the promise is about it
        given_back += len(stream.end())
        assert given_back == (len("[redacted:private-key]") if marks else len(text))


@pytest.mark.parametrize(
    "unit",
    [b"a", b"eyJ", b" eyJ", b"://a:", b"://::", b"ghp_", b"secret_key=\\\"", b"authorization: ",
     b"-----BEGIN ", b"bearer ", b"AKIA", b" sk-", b"\\n", b"xox", b"ghp_" + b"a" * 20 + b"."],
)  # fmt: skip
def test_time_grows_with_the_length_alone(unit: bytes) -> None:
    """No text makes a shape go over it again and again."""

    def took(size: int) -> float:
        text = unit * (size // len(unit))
        began = time.process_time()
        redacted(text, KNOWN)
        return time.process_time() - began

    assert took(2_000_000) < 0.05 + 24 * took(250_000)
    assert took(1_000_000) < 5
