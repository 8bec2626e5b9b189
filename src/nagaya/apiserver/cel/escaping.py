"""Names of fields that are no names in CEL: `my-field` is written `my__dash__field`, `namespace` is `__namespace__`."""

from __future__ import annotations

import re
from typing import Final

KEYWORDS: Final = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_UNESCAPED: Final = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*")
_SPECIAL: Final = re.compile(r"__|[-./]")
_WORDS: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SIGNS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_ESCAPED: Final = re.compile(r"__([^_]+)__")


def escape(name: str) -> str | None:
    """The name as an expression writes it; None if no expression can."""
    if name in KEYWORDS:
        return f"__{name}__"
    if not _UNESCAPED.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda found: _WORDS[found[0]], name)


def unescape(name: str) -> str | None:
    """The field that an escaped name stands for; None if it is not well-formed."""
    position, out = 0, []
    for found in _ESCAPED.finditer(name):
        sign = _SIGNS.get(found[1])
        if sign is None:
            if found[1] not in KEYWORDS or found[0] != name:
                return None
            sign = found[1]
        out.append(name[position : found.start()] + sign)
        position = found.end()
    return "".join(out) + name[position:]
