"""Ends TLS connections that were closed and still wait for the goodbye of the other side when a test's loop ends.

asyncio keeps the socket of such a connection until the other side has answered, for up to 30 s. A test's loop ends as
soon as the test does, and a busy machine answers late: the garbage collector would report the socket as a leak in some
later test. Connections that nobody closed are still reported.
"""

from __future__ import annotations

import asyncio
from asyncio.selector_events import BaseSelectorEventLoop
from asyncio.sslproto import SSLProtocol

_close = BaseSelectorEventLoop.close


def end_at_close() -> None:
    """Have every loop of this process do so."""
    BaseSelectorEventLoop.close = _end_and_close  # type: ignore[method-assign]


def _end_and_close(loop: BaseSelectorEventLoop) -> None:
    may_run = not (loop.is_closed() or loop.is_running()) and asyncio._get_running_loop() is None
    waiting = [each for each in [*loop._transports.values()] if _waits_for_goodbye(each)] if may_run else []
    for transport in waiting:
        transport.abort()
    if waiting:
        loop.call_soon(loop.stop)  # behind the ends of the connections
        loop.run_forever()
    _close(loop)


def _waits_for_goodbye(transport: asyncio.Transport) -> bool:
    protocol = transport.get_protocol()
    if not isinstance(protocol, SSLProtocol) or transport.is_closing():
        return False
    encrypted = protocol._app_transport
    return encrypted is not None and encrypted.is_closing()
