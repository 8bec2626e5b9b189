"""How expensive the rules of a definition may be, by estimate, when it is written.

A rule is evaluated for every value it stands at, so its cost counts as often as there can be such values: as many as
`maxItems` and `maxProperties` around it allow, or without these as fit into a request. A rule that could hold up the
server is refused, and so are rules that together could.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden

_LARGEST: Final = 2**64 - 1
_RULE_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_NAMED: Final = 4  # how many of the rules that cost too much together are named


def inside(values: int | None, schema: Schema) -> int | None:
    """How many values there can be of what is inside a node of which there are so many. None is without limit."""
    factor: int | None = 1
    if schema.type == "object" and schema.additional is not None:
        factor = schema.max_properties
    elif schema.type == "array":
        factor = schema.max_items
    return None if values is None or factor is None else min(values * max(factor, 0), _LARGEST)


class RuleCosts:
    """What the rules of one schema cost together."""

    def __init__(self) -> None:
        self._total = 0
        self._most_expensive: list[tuple[int, Path]] = []

    def rule(self, where: Path, cost: int, values: int) -> list[FieldError]:
        """Count a rule; the result is its refusal if it alone costs too much."""
        return self._count(where, min(cost * values, _LARGEST), "estimated rule cost")

    def message(self, where: Path, cost: int) -> list[FieldError]:
        """Count the expression for a rule's message, which is needed once."""
        return self._count(where, cost, "estimated messageExpression cost")

    def _count(self, where: Path, cost: int, what: str) -> list[FieldError]:
        self._total = min(self._total + cost, _LARGEST)
        if cost >= _TOTAL_LIMIT // 100:
            self._most_expensive.append((cost, where))
        return [_refusal(where, what, cost, _RULE_LIMIT)] if cost > _RULE_LIMIT else []

    def all(self, path: Path) -> list[FieldError]:
        """The refusal of a schema whose rules cost too much together."""
        if self._total <= _TOTAL_LIMIT:
            return []
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        ranked = sorted(self._most_expensive, key=lambda each: -each[0])[:_NAMED]
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*(forbidden(where, detail) for _, where in ranked), _refusal(path, what, self._total, _TOTAL_LIMIT)]


def _refusal(where: Path, what: str, cost: int, limit: int) -> FieldError:
    factor = cost / limit
    if factor > 100:
        times = "more than 100x"
    elif factor < 1.5:
        times = f"{factor:f}x"
    else:
        times = f"{factor:.1f}x"
    advice = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings"
    )
    return forbidden(where, f"{what} exceeds budget by factor of {times} ({advice} are declared)")
