"""The program: listens, until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys

from .front import BACKLOG, HELD, Balancer, Client


async def serve(address: str, port: int, file: str) -> None:
    """Until SIGTERM; connections that can be ended in good order are."""
    loop = asyncio.get_running_loop()
    stopping = loop.create_future()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, lambda: None if stopping.done() else stopping.set_result(None))
    balancer = Balancer(file)
    following = asyncio.create_task(balancer.follow())
    listening = asyncio.create_task(_listen(balancer, address, port))
    await asyncio.wait({listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if listening.done():
        server = listening.result()
        await stopping
        server.close()
    listening.cancel()
    following.cancel()
    balancer.leave()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HELD):
            await balancer.empty()
    balancer.close()


async def _listen(balancer: Balancer, address: str, port: int) -> asyncio.Server:
    await balancer.some_ready()
    loop = asyncio.get_running_loop()
    # The port may be shared for a moment: with an API server that listened there when it was the only one.
    server = await loop.create_server(lambda: Client(balancer), address, port, reuse_port=True, backlog=BACKLOG)
    balancer.is_listening = True
    print(f"listening at {address}:{port}", flush=True)
    return server


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
