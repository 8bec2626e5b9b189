"""Reading IP addresses and networks as strictly as Go's `netip`, and saying what is wrong in its words."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from nagaya.apiserver.meta import gostring

Address = IPv4Address | IPv6Address

_GROUP: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)


class _UnreadableError(Exception):
    """What is wrong, and optionally from which part on."""

    def __init__(self, message: str, at: str = "") -> None:
        super().__init__(f"{message} (at {gostring.quote(at)})" if at else message)


def parse_address(text: str) -> tuple[Address, str]:
    """An address and its zone. Raises ValueError."""
    try:
        return _address(text)
    except _UnreadableError as error:
        raise ValueError(f"ParseAddr({gostring.quote(text)}): {error}") from None


def parse_prefix(text: str) -> tuple[Address, int]:
    """An address with the length of its network's prefix. Raises ValueError."""
    try:
        return _prefix(text)
    except _UnreadableError as error:
        raise ValueError(f"netip.ParsePrefix({gostring.quote(text)}): {error}") from None


def _prefix(text: str) -> tuple[Address, int]:
    before, slash, bits = text.rpartition("/")
    if not slash:
        raise _UnreadableError("no '/'")
    try:
        address, zone = parse_address(before)
    except ValueError as error:
        raise _UnreadableError(str(error)) from None
    if zone:
        raise _UnreadableError("IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits.startswith("0")):
        raise _UnreadableError(f"bad bits after slash: {gostring.quote(bits)}")
    if len(bits) > 9 or int(bits) > address.max_prefixlen:
        raise _UnreadableError("prefix length out of range")
    return address, int(bits)


def _address(text: str) -> tuple[Address, str]:
    for char in text:
        if char == ".":
            return IPv4Address(_quad(text)), ""
        if char == ":":
            return _six(text)
        if char == "%":
            raise _UnreadableError("missing IPv6 address")
    raise _UnreadableError("unable to parse IP")


def _quad(text: str) -> int:
    fields: list[int] = []
    value, digits = 0, 0
    for position, char in enumerate(text):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _UnreadableError("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _UnreadableError("IPv4 field has value >255")
        elif char == ".":
            if position in (0, len(text) - 1) or text[position - 1] == ".":
                raise _UnreadableError("IPv4 field must have at least one digit", text[position:])
            if len(fields) == 3:
                raise _UnreadableError("IPv4 address too long")
            fields.append(value)
            value, digits = 0, 0
        else:
            raise _UnreadableError("unexpected character", text[position:])
    if len(fields) < 3:
        raise _UnreadableError("IPv4 address too short")
    return int.from_bytes([*fields, value])


def _six(text: str) -> tuple[IPv6Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _UnreadableError("zone must be a non-empty string")
    data = bytearray()
    gap = -1
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return IPv6Address(0), zone
    while len(data) < 16:
        found = _GROUP.match(rest)
        assert found is not None
        group = found[0]
        if len(group) > 4:
            raise _UnreadableError("each group must have 4 or less digits", rest)
        if not group:
            raise _UnreadableError("each colon-separated field must have at least one digit", rest)
        if rest[len(group) : len(group) + 1] == ".":
            if gap < 0 and len(data) != 12:
                raise _UnreadableError("embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(data) + 4 > 16:
                raise _UnreadableError("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            data += _quad(rest).to_bytes(4)
            rest = ""
            break
        data += int(group, 16).to_bytes(2)
        rest = rest[len(group) :]
        if not rest:
            break
        if rest[0] != ":":
            raise _UnreadableError("unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _UnreadableError("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if gap >= 0:
                raise _UnreadableError("multiple :: in address", rest)
            gap, rest = len(data), rest[1:]
            if not rest:
                break
    if rest:
        raise _UnreadableError("trailing garbage after address", rest)
    if len(data) < 16:
        if gap < 0:
            raise _UnreadableError("address string too short")
        data[gap:gap] = bytes(16 - len(data))
    elif gap >= 0:
        raise _UnreadableError("the :: must expand to at least one field of zeros")
    return IPv6Address(bytes(data)), zone
