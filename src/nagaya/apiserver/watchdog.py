"""Notices requests that keep the event loop from serving anybody else.

One loop serves all clients, so a request that computes for long without awaiting anything delays them all. Each such
stretch is timed by the real clock, also where the server's own clock is virtual; nothing but the log depends on it. It
costs a few readings of clocks, together a microsecond, for each time a request goes on, and no thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from nagaya.apiserver.meta import gostring

if TYPE_CHECKING:
    from nagaya.apiserver.web.handler import Exchange

T = TypeVar("T")

log = logging.getLogger(__name__)

LIMIT: Final = 0.1
"""Seconds without a pause, from which on a request is named in the log."""

_SHOWN: Final = 256  # characters of a path or a name: clients choose them


class Watched(Generator[Any, Any, T]):
    """Awaits a request's work, and logs each stretch of it that took longer than `LIMIT`."""

    def __init__(self, work: Coroutine[Any, Any, T], exchange: Exchange) -> None:
        self._work = work
        self._exchange = exchange

    def __await__(self) -> Generator[Any, Any, T]:
        return self

    def send(self, value: Any) -> Any:
        """Go on until the work awaits something."""
        began, busy = time.perf_counter(), time.thread_time()
        try:
            return self._work.send(value)
        finally:
            self._judge(began, busy)

    def throw(self, *error: Any) -> Any:
        """Go on with an error, such as a cancellation."""
        began, busy = time.perf_counter(), time.thread_time()
        try:
            return self._work.throw(*error)
        finally:
            self._judge(began, busy)

    def close(self) -> None:
        """Give up."""
        self._work.close()

    def _judge(self, began: float, busy: float) -> None:
        seconds = time.perf_counter() - began
        if seconds <= LIMIT:
            return
        exchange, computed = self._exchange, time.thread_time() - busy
        # A busy machine delays every request for a while, which no user can do anything about.
        log.log(
            logging.WARNING if computed > LIMIT / 2 else logging.INFO,
            "a request kept the server from serving others for %d ms, %d ms of them computing: "
            "%s %s by %s (audit ID %s)",
            seconds * 1000,
            computed * 1000,
            gostring.quote(exchange.info.verb[:_SHOWN]),
            gostring.quote(exchange.request.path[:_SHOWN]),
            gostring.quote(exchange.user.name[:_SHOWN]),
            gostring.quote(exchange.audit_id[:_SHOWN]),
        )
