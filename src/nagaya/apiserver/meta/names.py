"""What names, labels and other short texts may look like.

Every check returns a list of messages, empty when the text is fine. The messages are the API server's own, since they
end up in what a client sees. Lengths are counted in bytes. Checks of object names take a second argument: with `prefix`
the name is a `generateName`, to which characters will be added, so it may end in a dash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

NameCheck = Callable[[str, bool], list[str]]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORE_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN: Final = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT: Final = "[0-9]+%"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_ENVIRONMENT: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_DECIMAL: Final = "0|-?[1-9][0-9]*"

_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_caseless_subdomain = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII).fullmatch
_is_underscore_subdomain = re.compile(_UNDERSCORE_SUBDOMAIN).fullmatch
_is_label_1035 = re.compile(_LABEL_1035).fullmatch
_is_wildcard = re.compile(_WILDCARD).fullmatch
_is_qualified = re.compile(_QUALIFIED).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_http_header = re.compile(_HTTP_HEADER).fullmatch
_is_http_path = re.compile(_HTTP_PATH).fullmatch
_is_environment = re.compile(_ENVIRONMENT).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_decimal = re.compile(_DECIMAL).fullmatch
_is_port_text = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search

EMPTY: Final = "must be non-empty"


def size(text: str) -> int:
    """The length in bytes, which is what limits are about."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def too_many_characters(maximum: int) -> str:
    """What is said of a name that is too long."""
    return f"must be no more than {maximum} characters"


def too_many_bytes(maximum: int) -> str:
    """What is said of a label that is too long."""
    return f"must be no more than {maximum} bytes"


def out_of_range(low: int, high: int) -> str:
    """What is said of a number outside its bounds."""
    return f"must be between {low} and {high}, inclusive"


def mismatch(message: str, pattern: str, *examples: str) -> str:
    """What is said of a text that does not match the pattern."""
    # The comma before "or" is followed by two spaces in the original too.
    shown = "e.g. " + " or ".join(f"'{example}', " for example in examples) if examples else ""
    return f"{message} ({shown}regex used for validation is '{pattern}')"


def dns_label(text: str) -> list[str]:
    """RFC 1123 label: `my-name`."""
    problems = []
    if size(text) > 63:
        problems.append(too_many_characters(63))
    if not _is_label(text):
        problems.append("must not contain dots" if _is_subdomain(text) else _BAD_LABEL)
    return problems


_BAD_LABEL: Final = mismatch(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)


def _rule(
    matches: Callable[[str], object], maximum: int, problem: str, too_long: Callable[[int], str] = too_many_characters
) -> Callable[[str], list[str]]:
    """The check of a text that has to match a pattern and has a greatest length."""

    def check(text: str) -> list[str]:
        fits = bool(matches(text))
        if fits and len(text) <= maximum:
            return []
        problems = [too_long(maximum)] if size(text) > maximum else []
        if not fits:
            problems.append(problem)
        return problems

    return check


_BAD_SUBDOMAIN: Final = mismatch(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
dns_subdomain: Final = _rule(_is_subdomain, 253, _BAD_SUBDOMAIN)
"""RFC 1123 subdomain: `example.com`."""

dns_subdomain_caseless: Final = _rule(
    _is_caseless_subdomain,
    253,
    mismatch(
        "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character",
        _SUBDOMAIN,
        "Example.com",
    ),
    too_many_bytes,
)
"""RFC 1123 subdomain in any case. Its length limit speaks of bytes."""

dns_subdomain_with_underscore: Final = _rule(
    _is_underscore_subdomain,
    253,
    mismatch(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
        "and must start and end with an alphanumeric character",
        _UNDERSCORE_SUBDOMAIN,
        "example.com",
    ),
)
"""RFC 1123 subdomain whose labels may hold underscores."""

dns1035_label: Final = _rule(
    _is_label_1035,
    63,
    mismatch(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character",
        _LABEL_1035,
        "my-name",
        "abc-123",
    ),
)
"""RFC 1035 label, which starts with a letter."""

wildcard_subdomain: Final = _rule(
    _is_wildcard,
    253,
    mismatch(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        _WILDCARD,
        "*.example.com",
    ),
)
"""A subdomain after `*.`."""


def qualified_name(text: str) -> list[str]:
    """A label key: a name with an optional domain and slash before it."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_BAD_QUALIFIED} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash:
        if not prefix:
            problems.append(f"prefix part {EMPTY}")
        else:
            if size(prefix) > 253:
                problems.append(f"prefix part {too_many_bytes(253)}")
            if not _is_subdomain(prefix):
                problems.append(f"prefix part {_BAD_SUBDOMAIN}")
    if not name:
        problems.append(f"name part {EMPTY}")
    elif size(name) > 63:
        problems.append(f"name part {too_many_bytes(63)}")
    if not _is_qualified(name):
        problems.append(f"name part {_BAD_QUALIFIED}")
    return problems


_BAD_QUALIFIED: Final = mismatch(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)


def label_value(text: str) -> list[str]:
    """The value of a label, which may be empty."""
    problems = [too_many_bytes(63)] if size(text) > 63 else []
    if not _is_label_value(text):
        problems.append(_BAD_VALUE)
    return problems


_BAD_VALUE: Final = mismatch(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def c_identifier(text: str) -> list[str]:
    """An identifier as C has them."""
    if _is_c_identifier(text):
        return []
    message = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [mismatch(message, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def port_number(port: int) -> list[str]:
    """A TCP or UDP port."""
    return in_range(port, 1, 65535)


def user_id(number: int) -> list[str]:
    """A user or group identifier."""
    return in_range(number, 0, 2**31 - 1)


def in_range(number: int, low: int, high: int) -> list[str]:
    """A number with bounds."""
    return [] if low <= number <= high else [out_of_range(low, high)]


def port_name(text: str) -> list[str]:
    """An IANA service name."""
    problems = [too_many_characters(15)] if size(text) > 15 else []
    if not _is_port_text(text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def percent(text: str) -> list[str]:
    """A percentage."""
    message = "a valid percent string must be a numeric string followed by an ending '%'"
    return [] if _is_percent(text) else [mismatch(message, _PERCENT, "1%", "93%")]


def http_header_name(text: str) -> list[str]:
    """The name of an HTTP header."""
    message = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [] if _is_http_header(text) else [mismatch(message, _HTTP_HEADER, "X-Header-Name")]


def http_path(text: str) -> list[str]:
    """The path part of a domain-prefixed path."""
    return [] if _is_http_path(text) else [mismatch("Invalid path", _HTTP_PATH)]


def environment_name(text: str) -> list[str]:
    """The name of an environment variable, by the strict rule."""
    problems = []
    if not _is_environment(text):
        message = (
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
            "and must not start with a digit"
        )
        problems.append(mismatch(message, _ENVIRONMENT, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    return problems + _changes_directory(text)


def environment_name_relaxed(text: str) -> list[str]:
    """The name of an environment variable, by the rule in force since 1.34."""
    problems = [] if text else [f"environment variable name {EMPTY}"]
    if not (text.isascii() and text.isprintable()) or "=" in text:
        problems.append(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
    return problems


def config_key(text: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    return _key_text(text) + _changes_directory(text)


_key_text: Final = _rule(
    _is_config_key,
    253,
    mismatch(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        _CONFIG_KEY,
        "key.name",
        "KEY_NAME",
        "key-name",
    ),
)


def _changes_directory(text: str) -> list[str]:
    if not text.startswith("."):
        return []
    if text in (".", ".."):
        return [f"must not be '{text}'"]
    return ["must not start with '..'"] if text.startswith("..") else []


def decimal_integer(text: str) -> list[str]:
    """An integer without plus sign or leading zeros."""
    if not text:
        return [EMPTY]
    return [] if _is_decimal(text) else ["must be a valid decimal integer in canonical form"]


def path_segment(name: str, prefix: bool = False) -> list[str]:
    """The rule that holds for the names of all objects: they are part of a URL."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


def name_is_subdomain(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of most objects."""
    return dns_subdomain(_without_trailing_dash(name) if prefix else name)


def name_is_label(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of namespaces and a few other objects."""
    return dns_label(_without_trailing_dash(name) if prefix else name)


def name_is_1035_label(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of services."""
    return dns1035_label(_without_trailing_dash(name) if prefix else name)


def _without_trailing_dash(name: str) -> str:
    # One character before the dash goes too; that is what the real server does, and what its length limits count on.
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
