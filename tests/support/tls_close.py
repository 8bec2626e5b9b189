"""Aborts TLS connections that are still in their closing handshake when the event loop of a test is closed.

After `close()` asyncio keeps the socket until the peer has sent its close_notify, for up to 30 s. The event loop of a
test is closed as soon as the test ends, and a peer on a busy machine answers late. The garbage collector would then
report the socket as a leak in a later, unrelated test. Connections that nobody closed are still reported.
"""

from __future__ import annotations

import asyncio
from asyncio.selector_events import BaseSelectorEventLoop
from asyncio.sslproto import SSLProtocol

_close = BaseSelectorEventLoop.close


def abort_closing_connections() -> None:
    """Patch the event loops of this process, also those that product code and threads of tests create."""
    # Neither a loop factory nor a policy reaches all of them: asyncio.run() in a thread takes none from pytest.
    BaseSelectorEventLoop.close = _abort_and_close  # type: ignore[method-assign]  # all loops have to be patched


def _abort_and_close(loop: BaseSelectorEventLoop) -> None:
    can_run = not (loop.is_closed() or loop.is_running()) and asyncio._get_running_loop() is None
    closing = [transport for transport in [*loop._transports.values()] if _is_closing(transport)] if can_run else []
    for transport in closing:
        transport.abort()
    if closing:
        loop.call_soon(loop.stop)  # after the callbacks of abort(), which close the sockets
        loop.run_forever()
    _close(loop)


def _is_closing(transport: asyncio.Transport) -> bool:
    """Whether the TLS connection over this transport is closed while the transport itself is open."""
    protocol = transport.get_protocol()
    if not isinstance(protocol, SSLProtocol) or transport.is_closing():
        return False
    encrypted = protocol._app_transport
    return encrypted is not None and encrypted.is_closing()
