"""Amounts of memory and processors as Kubernetes writes them: 512Mi, 1.5G, 1e9, 250m."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import Final

_BINARY: Final = {f"{prefix}i": Decimal(1024) ** power for power, prefix in enumerate("KMGTPE", 1)}
_DECIMAL: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(1000),
    **{prefix: Decimal(1000) ** power for power, prefix in enumerate("MGTPE", 2)},
}


_FACTORS: Final = {**_BINARY, **_DECIMAL}


def bytes_of(amount: int | str) -> int:
    """An amount as a number, rounded up. Raises ValueError if it is none."""
    return _times(amount, 1)


def milli_of(amount: int | str) -> int:
    """An amount in thousandths, likewise: of processors."""
    return _times(amount, 1000)


def _times(amount: int | str, factor: int) -> int:
    text = str(amount).strip()
    suffix = next((each for each in _FACTORS if text.endswith(each)), "")
    try:
        number = Decimal(text.removesuffix(suffix)) * _FACTORS.get(suffix, Decimal(1)) * factor
        return int(number.to_integral_value(ROUND_CEILING))
    except ArithmeticError:
        raise ValueError(f"{amount!r} is not an amount, as in 512Mi") from None
