"""Who is told about every request: the audit log and the metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nagaya.apiserver.web.handler import Exchange
    from nagaya.apiserver.web.request import Response

Done = Callable[["Response", float], None]


class Observer(Protocol):
    """Is told when a request begins and, with its answer and the seconds it took, when it is done."""

    def begin(self, exchange: Exchange) -> Done:
        """A request has come."""
        ...


class Observers:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def begin(self, exchange: Exchange) -> Done:
        """Tell all of them."""
        dones = [each.begin(exchange) for each in self._observers]

        def done(response: Response, seconds: float) -> None:
            for each in dones:
                each(response, seconds)

        return done
