"""Amounts of resources: `100m`, `1.5Gi`, `12e6`, and how Kubernetes writes them.

The same amount can be written in many ways. The server keeps one, which follows the suffix that the client used: binary
(`Ki`), decimal (`k`) or exponent (`e3`), with as few zeros as possible. Amounts are exact down to a billionth;
what is smaller is rounded away from zero, so that asking for something never turns into nothing. Amounts that already
are in good form are kept as written, including what Go lets pass (`05`, `1.500`).
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cached_property, lru_cache, total_ordering
from typing import Final

_FORM: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_NO_NUMBER: Final = "unable to parse numeric part of quantity"
_PARTS: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([+-]?)0*([0-9]{1,19})", re.ASCII)
_DECIMAL_POWERS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWERS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL_POWERS.items()}
_BINARY_SUFFIXES: Final = {power: suffix for suffix, power in _BINARY_POWERS.items()}
_NANO: Final = -9
_MOST: Final = (1 << 63) - 1
_FAST_DIGITS: Final = 18  # Go keeps amounts of up to this many digits in 64 bits, and rounds only larger ones
_MEMO_LENGTH: Final = 32
_FAR_APART: Final = 1000  # decimal places after which the smaller of two amounts no longer counts


class QuantityError(ValueError):
    """A text is no quantity; the message is Go's."""


class Format(Enum):
    """The family of suffixes that an amount is written with."""

    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"


@total_ordering
class Quantity:
    """An exact amount, `mantissa * 10**exponent`. Equal amounts are equal however they are written."""

    def __init__(self, mantissa: int, exponent: int = 0, format: Format = Format.DECIMAL, text: str = "") -> None:
        self.mantissa = mantissa
        self.exponent = exponent
        self.format = format
        self._text = text

    def __str__(self) -> str:
        return self._text or self._canonical

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return _compare(self, other) < 0

    def __hash__(self) -> int:
        return hash(_reduce(self.mantissa, self.exponent))

    def __add__(self, other: Quantity) -> Quantity:
        return self._sum(other.mantissa, other)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._sum(-other.mantissa, other)

    def _sum(self, mantissa: int, other: Quantity) -> Quantity:
        exponent = min(self.exponent, other.exponent)
        if max(self.exponent, other.exponent) - exponent > _FAR_APART:
            return self if self.exponent > other.exponent else Quantity(mantissa, other.exponent, self.format)
        total = self.mantissa * 10 ** (self.exponent - exponent) + mantissa * 10 ** (other.exponent - exponent)
        return Quantity(total, exponent, other.format if self.mantissa == 0 else self.format)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    @property
    def is_integer(self) -> bool:
        """Whether the amount is whole."""
        return _reduce(self.mantissa, self.exponent)[1] >= 0

    def scaled(self, exponent: int) -> int:
        """The amount in units of `10**exponent`, rounded away from zero and held within 64 bits."""
        places = self.exponent - exponent
        if places > _FAST_DIGITS:
            return self.sign * _MOST
        return max(-_MOST, min(_MOST, _shift(self.mantissa, places)))

    @property
    def value(self) -> int:
        """The amount as a whole number, rounded away from zero."""
        return self.scaled(0)

    @property
    def milli_value(self) -> int:
        """The amount in thousandths, rounded away from zero."""
        return self.scaled(-3)

    @cached_property
    def _canonical(self) -> str:
        if self.mantissa == 0:
            return "0"
        mantissa, exponent = _reduce(self.mantissa, self.exponent)
        if self.format is Format.BINARY and exponent >= 0:
            whole = mantissa * 10**exponent
            if not -1024 < whole < 1024:
                power = 0
                while whole % 1024 == 0:
                    whole //= 1024
                    power += 10
                return f"{whole}{_BINARY_SUFFIXES.get(power, '')}"
        padding = exponent % 3
        digits, exponent = mantissa * 10**padding, exponent - padding
        if self.format is Format.EXPONENT:
            return f"{digits}e{exponent}" if exponent else str(digits)
        # Beyond the last suffix Go prints none, and so do we: the text must be the real server's.
        return f"{digits}{_DECIMAL_SUFFIXES.get(exponent, '')}"


def _reduce(mantissa: int, exponent: int) -> tuple[int, int]:
    """The same amount without trailing zeros."""
    if mantissa == 0:
        return 0, 0
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


def _shift(mantissa: int, places: int) -> int:
    """`mantissa * 10**places`, rounded away from zero."""
    if places >= 0:
        return int(mantissa * 10**places)
    if -places > len(str(mantissa)):
        return (mantissa > 0) - (mantissa < 0)
    unit: int = 10**-places
    whole, rest = divmod(abs(mantissa), unit)
    return (whole + (rest > 0)) * (-1 if mantissa < 0 else 1)


def _compare(left: Quantity, right: Quantity) -> int:
    if left.sign != right.sign or left.sign == 0:
        return left.sign - right.sign
    # Sizes are compared by their number of digits first: an exponent may be far too large to write the number out.
    left_size = len(str(abs(left.mantissa))) + left.exponent
    right_size = len(str(abs(right.mantissa))) + right.exponent
    if left_size != right_size:
        return left.sign * (1 if left_size > right_size else -1)
    exponent = min(left.exponent, right.exponent)
    difference: int = left.mantissa * 10 ** (left.exponent - exponent) - right.mantissa * 10 ** (
        right.exponent - exponent
    )
    return (difference > 0) - (difference < 0)


def canonical(text: str) -> str:
    """A quantity in the form in which the server keeps it. Raises QuantityError."""
    return _memo(text) if len(text) <= _MEMO_LENGTH else str(parse(text))


@lru_cache(maxsize=4096)
def _memo(text: str) -> str:
    return str(parse(text))


def parse(text: str) -> Quantity:
    """Read a quantity. Raises QuantityError."""
    if text == "0":
        return Quantity(0, text="0")
    parts = _PARTS.fullmatch(text)
    if not text or parts is None:
        raise QuantityError(f"quantities must match the regular expression '{_FORM}'")
    sign, whole, decimals, suffix = parts.groups("")
    digits = (whole or "0") + decimals
    base, power, format = _suffix(suffix)
    if base == 2:
        fast = not decimals and 15 - len(whole or "0") - int(power * 3 / 10) - 1 >= 0
    else:
        fast = len(digits) <= _FAST_DIGITS and power - len(decimals) >= _NANO
    amount = int(digits) if len(digits) <= _MEMO_LENGTH else _long(digits)
    negative = -1 if sign == "-" else 1
    if fast:
        return _small(text, amount, negative, digits, power - (len(decimals) if base == 10 else 0), format)
    if not any(map(str.isdigit, text.removesuffix(suffix))):
        raise QuantityError(_NO_NUMBER)
    return _large(amount, negative, len(decimals), base, power, format)


def _suffix(suffix: str) -> tuple[int, int, Format]:
    if suffix in _DECIMAL_POWERS:
        return 10, _DECIMAL_POWERS[suffix], Format.DECIMAL
    if suffix in _BINARY_POWERS:
        return 2, _BINARY_POWERS[suffix], Format.BINARY
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is not None:
        power = int(exponent[1] + exponent[2])
        if -_MOST - 1 <= power <= _MOST:
            # Go cuts the exponent to 32 bits.
            return 10, (power + (1 << 31)) % (1 << 32) - (1 << 31), Format.EXPONENT
    raise QuantityError("unable to parse quantity's suffix")


def _long(digits: str) -> int:
    # Python refuses to convert very long texts; nobody has that much of anything.
    if len(digits) > 4000:
        raise QuantityError(_NO_NUMBER)
    return int(digits)


def _small(text: str, amount: int, sign: int, digits: str, power: int, format: Format) -> Quantity:
    """An amount that fits into 64 bits. The text is kept when it is good enough."""
    if format is Format.BINARY:
        keep = amount & 7 != 0
        return Quantity(sign * amount << power, 0, format, text if keep else "")
    keep = power % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(sign * amount, power, format, text if keep else "")


def _large(amount: int, sign: int, decimals: int, base: int, power: int, format: Format) -> Quantity:
    """An amount that has to be rounded or capped."""
    if base == 2:
        amount <<= power
    exponent = power - decimals if base == 10 else -decimals
    if amount and exponent < _NANO:
        amount, exponent = _shift(amount, exponent - _NANO), _NANO
    if format is Format.BINARY:
        if _shift(amount, exponent) > _MOST:
            amount, exponent = _MOST, 0
        elif 0 < amount < 10**-exponent:
            format = Format.DECIMAL
    return Quantity(sign * amount, exponent, format)
