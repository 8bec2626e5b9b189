"""What an object says while it is paused: what it said before, and why nothing happens to it.

The status is kept whole, because one that is applied without what was applied before loses that.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

import msgspec

from nagaya.api.cluster import pause
from nagaya.api.meta import Condition, ObjectMeta
from nagaya.kube.conditions import Conditions, condition, set_condition

NOT_PAUSED: Final[Condition] = condition(pause.CONDITION, False, pause.NOT_PAUSED)


class _Status(Protocol):
    @property
    def conditions(self) -> Conditions: ...


S = TypeVar("S", bound=_Status)
S_co = TypeVar("S_co", bound=_Status, covariant=True)


class _Pausable(Protocol[S_co]):
    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def status(self) -> S_co: ...


def status_while_paused(obj: _Pausable[S], why: str, now: datetime) -> S:
    """The status of an object that is left alone."""
    told = condition(pause.CONDITION, True, pause.PAUSED, why)
    conditions = set_condition(obj.status.conditions, told, now=now, generation=obj.metadata.generation)
    status: Any = obj.status  # a struct, which a protocol cannot say
    paused: S = msgspec.structs.replace(status, conditions=conditions)
    return paused
