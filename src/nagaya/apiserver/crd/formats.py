"""The formats a string in a custom resource can be checked for, by the same rules as the real server.

Some rules are odd (an empty text is not base64, a duration may be `3 weeks`), and are kept: an object that one server
accepts must not be refused by the other. Formats that are not listed here mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Final

from nagaya.apiserver.crd import patterns, urls
from nagaya.apiserver.meta import addresses, names

Check = Callable[[str], bool]

_HOSTNAME: Final = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)


def _expression(pattern: str) -> Check:
    matches = re.compile(pattern, re.ASCII | re.IGNORECASE).fullmatch
    return lambda text: matches(text) is not None


_is_base64 = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII
).fullmatch
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_USUAL_TIME: Final = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII
)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# Possessive quantifiers and the lookbehind keep these linear: the texts come from users.
_GO_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_WORDED_DURATION: Final = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-zµ]+)", re.ASCII)
_UNITS: Final = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_UNIT_PREFIXES: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")

_CARD: Final = re.compile(
    r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}",
    re.ASCII,
)
# Named by what is not in it: a class with all of Unicode takes Python long to compile.
_ATOM: Final = r"[^\x00-\x20\"(),.:;<>@\[\\\]\x7f]++"
_QUOTED: Final = r'"(?:[^"\\\r\n]|\\.)*"'
_ADDRESS: Final = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_ATOM}(?:\.{_ATOM})*|\[[0-9A-Fa-f:.]+\])"
_MAIL: Final = re.compile(
    rf"[ \t]*+(?:{_ADDRESS}|(?:(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})[ \t]*+)*+<[ \t]*+{_ADDRESS}[ \t]*+>)"
    r"[ \t]*+(?:\([^()]*\)[ \t]*+)?"
)
_MAC_FORMS: Final = re.compile(
    r"[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2})*|[0-9a-f]{4}(?:\.[0-9a-f]{4})+|(?:[0-9a-f]{2})+",
    re.ASCII | re.IGNORECASE,
)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if not found:
        return False
    year, month, day = (int(part) for part in found.groups())
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return leap or (month, day) != (2, 29)


def _is_date_time(text: str) -> bool:
    if _USUAL_TIME.fullmatch(text):
        return text[8:10] <= "28" or _is_date(text[:10])
    # Whatever follows a second "t" has never been looked at.
    date, *rest = text.lower().split("t")
    found = _TIME.fullmatch(rest[0]) if rest and _is_date(date) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    # A worded duration is one if any of its parts is; the rest is passed over.
    return any(
        unit.lower() in _UNITS or unit.lower().startswith(_UNIT_PREFIXES) for _, unit in _WORDED_DURATION.findall(text)
    )


def _is_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + position % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    last = 10 if digits[9] == "X" else int(digits[9])
    return (sum((position + 1) * int(digits[position]) for position in range(9)) + 10 * last) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    total = sum(int(digit) * (1 + 2 * (position % 2)) for position, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


def _is_mac(text: str) -> bool:
    return _MAC_FORMS.fullmatch(text) is not None and len(re.sub(r"[.:-]", "", text)) // 2 in (6, 8, 20)


def _is_hostname(text: str) -> bool:
    parts = text.split(".")
    return (
        names.size(text) <= 255 and all(names.size(part) <= 63 for part in parts) and patterns.compiled(_HOSTNAME)(text)
    )


def _is_ipv4(text: str) -> bool:
    return "." in text and addresses.parse_address(text) is not None


def _is_ipv6(text: str) -> bool:
    if ":" not in text or "%" in text:
        return False
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_uri(text: str) -> bool:
    try:
        urls.parse_request(text)
    except ValueError:
        return False
    return True


def _uuid(version: str = "[0-9a-f]", variant: str = "[0-9a-f]") -> Check:
    return _expression(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_is_short_name = re.compile(_LABEL).fullmatch
_is_long_name = re.compile(rf"{_LABEL}(\.{_LABEL})*").fullmatch
_CHANNEL: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"

_CHECKS: Final[dict[str, Check]] = {
    "bsonobjectid": _expression("[0-9a-f]{24}"),
    "uri": _is_uri,
    "email": lambda text: _MAIL.fullmatch(text) is not None,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": lambda text: addresses.parse_network(text) is not None,
    "mac": _is_mac,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": lambda text: len(text) == 11 and re.fullmatch(r"\d{3}[- ]?\d{2}[- ]?\d{4}", text, re.ASCII) is not None,
    "hexcolor": _expression("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "rgbcolor": lambda text: re.fullmatch(rf"rgb\({_CHANNEL},{_CHANNEL},{_CHANNEL}\)", text, re.ASCII) is not None,
    "byte": lambda text: _is_base64(text) is not None,
    "password": lambda text: True,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text) is not None,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text) is not None,
}


def check_for(name: str) -> Check | None:
    """The check for a string format, None if the name means nothing. Dashes in the name do not matter."""
    return _CHECKS.get(name.replace("-", ""))


def means_something(name: str, type_name: str) -> bool:
    """Whether a format is one that values of this type are checked for. Without a type, it is taken for a string's."""
    if type_name in ("", "string"):
        return check_for(name) is not None
    if type_name == "integer":
        return name in ("int32", "int64")
    if type_name == "number":
        return name in ("float", "double")
    return False
