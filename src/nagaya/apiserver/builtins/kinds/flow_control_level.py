"""The rules for what a priority level says: how much of the server its requests get."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_EXEMPT: Final = "exempt"
_MOST_QUEUES: Final = 10_000_000
_MOST_BITS: Final = 60
_ZERO_SHARES: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

FIXED: Final[Mapping[str, JsonObject]] = {
    _EXEMPT: {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}
"""The levels that have to be as they are, by name."""

_SHAPE: Final = (
    "Type=type:s Limited=limited:*{NominalConcurrencyShares=nominalConcurrencyShares:i "
    "LimitResponse=limitResponse:{Type=type:s "
    "Queuing=queuing:*{Queues=queues:i HandSize=handSize:i QueueLengthLimit=queueLengthLimit:i}} "
    "LendablePercent=lendablePercent:p BorrowingLimitPercent=borrowingLimitPercent:p} "
    "Exempt=exempt:*{NominalConcurrencyShares=nominalConcurrencyShares:p LendablePercent=lendablePercent:p}"
)


def errors(metadata: JsonObject, spec: JsonObject) -> list[FieldError]:
    """What is wrong with a level of this metadata and spec."""
    name = metadata.get("name") or ""
    found: list[FieldError] = []
    if _ZERO_SHARES in (metadata.get("annotations") or {}):
        found.append(forbidden("metadata.annotations", f"annotation '{_ZERO_SHARES}' is forbidden"))
    kind = spec.get("type") or ""
    if (name == _EXEMPT) != (kind == "Exempt"):
        found.append(invalid(_SPEC.child("type"), kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    found += _parts(kind, spec)
    return found + _fixed(name, spec)


def _parts(kind: str, spec: JsonObject) -> list[FieldError]:
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        found = [forbidden(_SPEC.child("limited"), "must be nil if the type is not Limited")] if limited else []
        return found + (_shares(exempt, _SPEC.child("exempt")) if exempt is not None else [])
    if kind == "Limited":
        found = [forbidden(_SPEC.child("exempt"), "must be nil if the type is Limited")] if exempt is not None else []
        if limited is None:
            return [*found, required(_SPEC.child("limited"), "must not be empty when type is Limited")]
        return found + _limited(limited, _SPEC.child("limited"))
    where = _SPEC.child("type")
    return [not_supported(where, kind, ("Exempt", "Limited")) if kind else required(where)]


def _fixed(name: str, spec: JsonObject) -> list[FieldError]:
    fixed = FIXED.get(name)
    if fixed is None:
        return []
    what = f"spec of '{name}'"
    if name == _EXEMPT:
        spec_to_compare = {**spec, _EXEMPT: fixed[_EXEMPT]}
        what += " except the 'spec.exempt' field"
    else:
        spec_to_compare = spec
    if spec_to_compare == fixed:
        return []
    return [invalid_shape(_SPEC, shape(_SHAPE), spec, f"{what} must equal the fixed value")]


def _shares(part: JsonObject, where: Path) -> list[FieldError]:
    found = []
    if part["nominalConcurrencyShares"] < 0:
        place = where.child("nominalConcurrencyShares")
        found.append(invalid(place, part["nominalConcurrencyShares"], "must be a non-negative integer"))
    return found + _lendable(part, where)


def _lendable(part: JsonObject, where: Path) -> list[FieldError]:
    percent = part["lendablePercent"]
    if 0 <= percent <= 100:
        return []
    return [invalid(where.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")]


def _limited(part: JsonObject, where: Path) -> list[FieldError]:
    shares = _shares({**part, "lendablePercent": 0}, where)
    found = [*shares, *_response(part["limitResponse"], where.child("limitResponse")), *_lendable(part, where)]
    borrowing = part.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        detail = "if specified, must be a non-negative integer"
        found.append(invalid(where.child("borrowingLimitPercent"), borrowing, detail))
    return found


def _response(response: JsonObject, where: Path) -> list[FieldError]:
    kind, queuing, place = response.get("type") or "", response.get("queuing"), where.child("queuing")
    if kind == "Reject":
        detail = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [forbidden(place, detail)]
    if kind == "Queue":
        if queuing is None:
            return [required(place, "must not be empty if limited.limitResponse.type is Limited")]
        return _queuing(queuing, place)
    at = where.child("type")
    return [not_supported(at, kind, ("Queue", "Reject")) if kind else required(at)]


def _queuing(queuing: JsonObject, where: Path) -> list[FieldError]:
    length, queues, hand = queuing["queueLengthLimit"], queuing["queues"], queuing["handSize"]
    found: list[FieldError] = []
    if length <= 0:
        found.append(invalid(where.child("queueLengthLimit"), length, "must be positive"))
    if queues <= 0:
        found.append(invalid(where.child("queues"), queues, "must be positive"))
    elif queues > _MOST_QUEUES:
        found.append(invalid(where.child("queues"), queues, f"must not be greater than {_MOST_QUEUES}"))
    place = where.child("handSize")
    if hand <= 0:
        found.append(invalid(place, hand, "must be positive"))
    elif hand > queues:
        found.append(invalid(place, hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _MOST_BITS:
        limit = f"should not be greater than {_MOST_BITS}"
        found.append(invalid(place, hand, f"required entropy bits of deckSize {queues} and handSize {hand} {limit}"))
    return found
