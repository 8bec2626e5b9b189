"""Semantic versions: `semver('1.2.3')`, comparisons and parts."""

from __future__ import annotations

import re
from typing import Any, Final

from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.operators import MAX_UINT
from nagaya.apiserver.cel.values import CelError, Opaque
from nagaya.apiserver.meta import gostring

_ALPHANUMERIC: Final = re.compile(r"[0-9A-Za-z-]*", re.ASCII)
_DIGITS: Final = re.compile(r"[0-9]*", re.ASCII)


class Semver(Opaque):
    """A version. Its build part plays no role in comparisons."""

    __slots__ = ("numbers", "prerelease")

    type_name = "kubernetes.Semver"

    def __init__(self, numbers: tuple[int, int, int], prerelease: tuple[tuple[int, int, str], ...]) -> None:
        self.numbers = numbers
        # Numbers come before words, and no pre-release after every pre-release.
        self.prerelease = prerelease

    def equals(self, other: Any) -> bool:
        """Whether neither is the greater one."""
        return _compare(self, other) == 0


def _compare(one: Semver, other: Semver) -> int:
    if one.numbers != other.numbers:
        return -1 if one.numbers < other.numbers else 1
    if not one.prerelease or not other.prerelease:
        return bool(other.prerelease) - bool(one.prerelease)
    return (one.prerelease > other.prerelease) - (one.prerelease < other.prerelease)


def _number(text: str, what: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {what.lower()} number {gostring.quote(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise CelError(f"{what} number must not contain leading zeroes {gostring.quote(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text or len(text) > 20 or int(text) > MAX_UINT:
        problem = "value out of range" if text else "invalid syntax"
        raise CelError(f"strconv.ParseUint: parsing {gostring.quote(text)}: {problem}")
    return int(text)


def _prerelease(text: str) -> tuple[int, int, str]:
    if not text:
        raise CelError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text.startswith("0"):
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {gostring.quote(text)}")
        return 0, _unsigned(text), ""
    if not _ALPHANUMERIC.fullmatch(text):
        raise CelError(f"Invalid character(s) found in prerelease {gostring.quote(text)}")
    return 1, 0, text


def _semver(text: str, normalize: bool = False) -> Semver:
    text = _normalized(text) if normalize else text
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "Major"), _number(parts[1], "Minor")
    patch, plus, build = parts[2].partition("+")
    patch, dash, prerelease = patch.partition("-")
    number = _number(patch, "Patch")
    words = tuple(map(_prerelease, prerelease.split("."))) if dash else ()
    for each in build.split(".") if plus else []:
        if not each:
            raise CelError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(each):
            raise CelError(f"Invalid character(s) found in build meta data {gostring.quote(each)}")
    return Semver((major, minor, number), words)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped[:1].isdigit() and stripped.isascii() else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelError:
        return False
    return True


_S: Final = "kubernetes.Semver"

FUNCTIONS: Final = (
    function("semver", overload(f"(string) -> {_S}", _semver), overload(f"(string, bool) -> {_S}", _semver)),
    function("isSemver", overload("(string) -> bool", _is_semver), overload("(string, bool) -> bool", _is_semver)),
    function("isGreaterThan", overload(f"{_S}.({_S}) -> bool", lambda one, other: _compare(one, other) > 0)),
    function("isLessThan", overload(f"{_S}.({_S}) -> bool", lambda one, other: _compare(one, other) < 0)),
    function("compareTo", overload(f"{_S}.({_S}) -> int", _compare)),
    function("major", overload(f"{_S}.() -> int", lambda version: version.numbers[0])),
    function("minor", overload(f"{_S}.() -> int", lambda version: version.numbers[1])),
    function("patch", overload(f"{_S}.() -> int", lambda version: version.numbers[2])),
)
