"""How secrets look that nobody here was given: their known shapes.

A shape is a head, which is bounded and decides, and what may follow it without a limit. No head
holds a line break, so a line that has ended is decided.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Bytes of the longest head, and of the longest form of a value: what may have to be held back.
LONGEST = 4096

_WORD = re.compile(rb"[A-Za-z0-9_-]+")
_DOTTED = re.compile(rb"[A-Za-z0-9_-]+|\.(?=[A-Za-z0-9_-])")
_PROOF = re.compile(rb"[^\s\"'\\,;<>]+")
_NOTHING = re.compile(rb"(?!)")
#: The body of a PEM block: in a file, a diff, a listing with line numbers, or a string of JSON.
_BODY = re.compile(
    rb"(?<=[\r\nn])\+?(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n\\]{0,200}"
    rb"|(?<=[\r\n])[ ]{0,8}[0-9]{1,6}(?:\t|\xe2\x86\x92|[:|]) ?"
    rb"|(?<=[\r\n])(?:[ \t>|]{1,16}|-(?!-))"
    rb"|[A-Za-z0-9+/=]+|[\r\n]+|\\+[nrt]"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret."""

    name: str
    head: re.Pattern[bytes]  #: the secret begins at its group, where it has one
    more: re.Pattern[bytes]  #: a part of what goes on


def _shape(name: str, head: bytes, more: re.Pattern[bytes] = _WORD) -> Shape:
    return Shape(name, re.compile(head), more)


def _word(begins: bytes) -> bytes:
    """These letters where a word begins; after an escape of JSON, of a URL or of a colour one does.

    They are looked for first, and what is before them only then.
    """
    return (
        begins
        + rb"(?:(?<![A-Za-z0-9_-]%b)|(?<=\\[nrt]%b)|(?<=%%[0-9A-F][0-9A-F]%b)" % ((begins,) * 3)
        + rb"|(?<=\[[0-9]m%b)|(?<=\[[0-9][0-9]m%b))" % (begins, begins)
    )


#: In the order in which they name what several of them see. Each head begins with fixed letters,
#: so that looking for it costs next to nothing.
SHAPES = (
    _shape("private-key", rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", _BODY),
    _shape("github-token", rb"gh[pousr]_[A-Za-z0-9]{20}", _DOTTED),
    _shape("github-token", rb"github_pat_[A-Za-z0-9_]{20}"),
    _shape("anthropic-key", rb"sk-ant-[A-Za-z0-9_-]{12}"),
    _shape("openai-key", _word(b"sk-")
           + rb"(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{16}|[A-Za-z0-9]{32})"),
    _shape("aws-key", _word(b"A[KS]IA") + rb"[A-Z0-9]{16}(?![A-Za-z0-9+/=])", _NOTHING),
    _shape("aws-secret",
           rb"(?i:secret_?(?:access_?)?key)[\\\"']{0,4}[ \t]{0,8}[:=][ \t]{0,8}[\\\"']{0,4}"
           rb"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", _NOTHING),
    _shape("slack-token", rb"xox[abeoprs]-[A-Za-z0-9-]{10}"),
    _shape("slack-token", rb"xapp-[0-9]-[A-Za-z0-9-]{10}"),
    _shape("google-key", _word(b"AIza") + rb"[A-Za-z0-9_-]{35}"),
    _shape("gitlab-token", rb"glpat-[A-Za-z0-9_-]{16}", _DOTTED),
    _shape("npm-token", _word(b"npm_") + rb"[A-Za-z0-9]{30}"),
    _shape("pypi-token", rb"pypi-AgE[A-Za-z0-9_-]{16}"),
    _shape("fencepost-token", _word(b"fp_") + rb"[A-Za-z0-9_-]{40}"),
    _shape("jwt", _word(b"eyJ") + rb"[A-Za-z0-9_-]{8,1024}\.eyJ[A-Za-z0-9_-]{8}", _DOTTED),
    _shape("authorization",
           rb"(?i:authorization)[\\\"']{0,4}[ \t]{0,8}[:=][ \t]{0,8}[\\\"']{0,4}"
           rb"(?i:bearer|basic|token)[ \t]{1,8}(?!\[redacted:)([^\s\"'\\,;<>]{4})", _PROOF),
    _shape("bearer", rb"(?i:bearer)[ \t]{1,8}([A-Za-z0-9._~+/-]{20})", _PROOF),
    _shape("url-password",
           rb"://[^\s/@:\"'\\]{0,128}:(?!\[redacted:)([^\s/@\"'\\]{1,512})(?=@)", _NOTHING),
)  # fmt: skip
