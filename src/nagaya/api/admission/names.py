"""What names and labels may look like. Each check returns Kubernetes' messages, none if the text is fine."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"

_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_key = re.compile(_KEY).fullmatch
_is_value = re.compile(_VALUE).fullmatch

_EMPTY: Final = "must be non-empty"
_BAD_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
# The two spaces after a comma are Kubernetes' own.
_BAD_KEY: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_BAD_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)


def _too_long(maximum: int) -> str:
    return f"must be no more than {maximum} bytes"


def dns_subdomain(text: str) -> list[str]:
    """The name of most objects: `example.com`."""
    problems = [_too_long(253)] if len(text.encode()) > 253 else []
    return problems if _is_subdomain(text) else [*problems, _BAD_SUBDOMAIN]


def label_key(text: str) -> list[str]:
    """The key of a label or annotation: a name, with an optional domain and slash before it."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_BAD_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash:
        problems += [f"prefix part {each}" for each in ([_EMPTY] if not prefix else dns_subdomain(prefix))]
    if not name:
        problems.append(f"name part {_EMPTY}")
    elif len(name.encode()) > 63:
        problems.append(f"name part {_too_long(63)}")
    return problems if _is_key(name) else [*problems, f"name part {_BAD_KEY}"]


def label_value(text: str) -> list[str]:
    """The value of a label, which may be empty."""
    problems = [_too_long(63)] if len(text.encode()) > 63 else []
    return problems if _is_value(text) else [*problems, _BAD_VALUE]
