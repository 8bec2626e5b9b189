"""A stand-in for kube-apiserver that answers every request with 503 from the moment it receives SIGTERM.

A real one goes on serving for a while, which hides requests that should not have been sent any more. This one is a
program of its own, which needs nothing but Python's library:

    python -I -S refusing_api_server.py ADDRESS PORT PEM NAME

It answers with NAME. Clients that choose "h2" in TLS get a protocol that stands for HTTP/2, because the balancer reads
neither: a request is a number and a newline, an answer is the number, a status, NAME and a newline, in any order, and
"GOAWAY N" means that no request after N was or will be looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import ssl
import sys

REFUSAL = "apiserver is shutting down"
DELAY = 0.5
"""Seconds for which the program listens after it was told to end."""
WORK = 0.02
"""Seconds that a request takes."""
LENGTH = 100
"""Repetitions of NAME in an answer: one of a few bytes looks like "100 Continue" to the balancer."""


class Server:
    """Serves until it receives SIGTERM."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ends = False
        self._connections: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()

    async def run(self, address: str, port: int, pem: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        context.set_alpn_protocols(["h2", "http/1.1"])
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._end)
        server = await asyncio.start_server(self._accept, address, port, ssl=context)
        await self._over.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _end(self) -> None:
        self.ends = True
        asyncio.get_running_loop().call_later(DELAY, self._over.set)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_http2 = writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
            await (self._serve_http2 if is_http2 else self._serve_http1)(reader, writer)
        self._connections.discard(connection)
        writer.close()

    async def _serve_http1(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            refuses, is_probe = self.ends, request.startswith(b"GET /readyz")
            if not is_probe:
                await asyncio.sleep(WORK)
            body = f"[-]shutdown failed {REFUSAL}" if refuses else self.name * LENGTH
            status = "503 Service Unavailable" if refuses else "200 OK"
            head = f"HTTP/1.1 {status}\r\nConnection: keep-alive\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write((head + body).encode())

    async def _serve_http2(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        last, working = 0, set[asyncio.Task[None]]()
        try:
            while line := await reader.readline():
                last = int(line)
                answer = f"{last} {503 if self.ends else 200} {self.name}\n"
                working.add(asyncio.create_task(self._answer(writer, answer)))
        finally:
            await asyncio.gather(*working)
            writer.write(f"GOAWAY {last}\n".encode())

    async def _answer(self, writer: asyncio.StreamWriter, answer: str) -> None:
        await asyncio.sleep(WORK)
        writer.write(answer.encode())


if __name__ == "__main__":
    asyncio.run(Server(sys.argv[4]).run(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
