"""May unhealthy machines be replaced? Not if so many are sick that the cause must lie elsewhere.

What counts against the limit is every machine that is not known to be healthy, those that have not started included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.health import RemediationTrigger

NO_LIMIT: Final = "100%"
_RANGE: Final = re.compile(r"\[([0-9]+)-([0-9]+)\]")
_SHARE: Final = re.compile(r"([0-9]+)%")


class InvalidTrigger(ValueError):
    """A limit that cannot be understood."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether machines may be replaced, and how many more may turn unhealthy before they may not."""

    allowed: bool
    remaining: int
    message: str = ""
    """Why not."""


def allowance(trigger: RemediationTrigger, total: int, healthy: int, unhealthy: int) -> Allowance:
    """What the limit says when `healthy` of the machines are and `unhealthy` are not. Raises InvalidTrigger."""
    missing = total - healthy
    if span := trigger.unhealthy_in_range:
        least, most = _ends(span)
        if least <= missing <= most:
            return Allowance(True, most - missing)
        why = f"does not fall within the range (total: {total}, unhealthy: {unhealthy}, unhealthyRange: {span})"
    else:
        limit = NO_LIMIT if trigger.unhealthy_less_than_or_equal_to is None else trigger.unhealthy_less_than_or_equal_to
        most = _most(limit, total)
        if missing <= most:
            return Allowance(True, most - missing)
        why = f"exceeds maxUnhealthy (total: {total}, unhealthy: {unhealthy}, maxUnhealthy: {limit})"
    return Allowance(False, 0, f"Remediation is not allowed, the number of not started or unhealthy machines {why}")


def _ends(span: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(span)
    if found is None:
        raise InvalidTrigger(f'unhealthyInRange "{span}" is not a range such as [3-5]')
    least, most = int(found[1]), int(found[2])
    if most < least:
        raise InvalidTrigger(f'unhealthyInRange "{span}" ends before it begins')
    return least, most


def _most(limit: int | str, total: int) -> int:
    if isinstance(limit, int):
        return limit
    found = _SHARE.fullmatch(limit)
    if found is None:
        raise InvalidTrigger(f'unhealthyLessThanOrEqualTo "{limit}" is neither a number nor a share such as 40%')
    return int(found[1]) * total // 100
