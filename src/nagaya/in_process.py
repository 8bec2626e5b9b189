"""Calls to an API server in the same process, and streams to ports of its pods: no socket, no TLS, no copies.

Neither the client nor the server knows of the other, so what connects them stands beside both. Whoever makes such a way
is answerable for the certificate that it shows: nobody checks its signature any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from nagaya.apiserver.streams.forwarder import PodPorts
from nagaya.apiserver.streams.pipe import PipeEnd, pipe
from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request, Response
from nagaya.kube import errors
from nagaya.kube.streams.forward import ForwardFailed
from nagaya.kube.streams.port_forward import DIAL_TIMEOUT
from nagaya.kube.streams.stream import CHUNK, StreamBroken
from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Unreachable

_REMOTE: Final = "127.0.0.1"
_FORWARD: Final = {"connection": "Upgrade", "upgrade": "SPDY/3.1", "x-stream-protocol-version": "portforward.k8s.io"}

Handle = Callable[[Request], Awaitable[Response]]
Open = Callable[[Call], tuple[Handle, bytes | None]]
"""What serves a call, and the certificate (DER) to show; raises Unreachable if nothing does."""


class HandlerTransport:
    """A way to a function that serves requests."""

    def __init__(self, open: Open, headers: Mapping[str, str]) -> None:
        self._open = open
        self._headers = headers
        self._closed = False

    async def send(self, call: Call) -> Answer:
        """Make a call."""
        try:
            async with asyncio.timeout(call.timeout):
                response = await self._handle(call)
                body = response.body if response.stream is None else await _whole(call, response.stream)
        except TimeoutError:
            raise _late(call) from None
        return Answer(response.status, _headers(response), body)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Make a call whose answer is read as it comes."""
        try:
            async with asyncio.timeout(call.timeout):
                response = await self._handle(call)
        except TimeoutError:
            raise _late(call) from None
        try:
            yield _Stream(call, response)
        finally:
            if response.stream is not None:
                await ended(response.stream)

    async def dial(self, namespace: str, name: str, port: int) -> InProcessStream:
        """A stream to a port of a pod: the transport is a `Dialer` too. Raises as that one does."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/portforward"
        call = Call("POST", path, headers=_FORWARD, timeout=DIAL_TIMEOUT)
        try:
            async with asyncio.timeout(call.timeout):
                response = await self._handle(call)
        except TimeoutError:
            raise Unreachable(call, f"the server in this process gave no stream within {DIAL_TIMEOUT:g} s") from None
        if response.upgrade is None:
            raise errors.from_answer(Answer(response.status, _headers(response), response.body), call)
        return InProcessStream(response.upgrade.ports, f"{namespace}/{name}", port)

    async def close(self) -> None:
        """Take no more calls."""
        self._closed = True

    async def _handle(self, call: Call) -> Response:
        # A call over the network lets others have their turn; so does this one, or a busy caller would keep everything
        # else waiting, the watches that tell it what it has done included.
        await asyncio.sleep(0)
        if self._closed:
            raise Unreachable(call, "the way to the server in this process is closed")
        handle, certificate = self._open(call)
        headers = {**self._headers, **call.headers}
        request = Request(
            call.method,
            call.path,
            {name: [value] for name, value in call.query.items()},
            headers,
            call.body or b"",
            tuple(headers.items()),
            certificate,
            _REMOTE,
        )
        try:
            return await handle(request)
        except ConnectionRefusedError as error:
            raise Unreachable(call, str(error)) from error
        except OSError as error:
            raise AnswerLost(call, str(error)) from error


class InProcessStream:
    """A connection to a port of a pod, as `nagaya.kube.streams.stream.Stream` has it.

    The server decided that there is one like over the network; only SPDY, which would carry its bytes, is left out.
    """

    def __init__(self, ports: PodPorts, pod: str, port: int) -> None:
        self._pod = pod
        self._port = port
        self._failure: OSError | None = None
        self._near, far = pipe()
        self._serving = asyncio.create_task(self._serve(ports, far), name=f"port {port} of {pod}")

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end. Raises StreamBroken."""
        try:
            data = await self._near.read(limit)
        except ConnectionError as error:
            raise StreamBroken(str(error)) from error
        if not data:
            self._check()
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes. Raises StreamBroken."""
        self._check()
        try:
            await self._near.write(data)
        except ConnectionError as error:
            self._check()
            raise StreamBroken(str(error)) from error

    async def write_eof(self) -> None:
        """Send no more. Raises StreamBroken."""
        self._check()
        await self._near.write_eof()

    async def close(self) -> None:
        """Let go of the connection."""
        await self._near.close()
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)

    async def _serve(self, ports: PodPorts, far: PipeEnd) -> None:
        try:
            await ports.serve(self._port, far)
        except OSError as error:
            self._failure = error
        finally:
            await far.close()

    def _check(self) -> None:
        if self._failure is not None:
            raise ForwardFailed(self._pod, self._port, str(self._failure)) from self._failure


class _Stream:
    """An answer on its way."""

    def __init__(self, call: Call, response: Response) -> None:
        self._call = call
        self._response = response
        self.status = response.status
        self.headers = _headers(response)

    def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        return _once(self._response.body) if stream is None else _chunks(self._call, stream)

    async def body(self) -> bytes:
        stream = self._response.stream
        return self._response.body if stream is None else await _whole(self._call, stream)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _chunks(call: Call, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks of a stream, none of which may take longer than the call allows for silence."""
    while True:
        try:
            async with asyncio.timeout(call.silence):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise AnswerLost(call, f"the server in this process was silent for {call.silence:g} s") from None
        except OSError as error:
            raise AnswerLost(call, str(error)) from error
        yield chunk


async def _whole(call: Call, stream: AsyncIterator[bytes]) -> bytes:
    try:
        return b"".join([chunk async for chunk in stream])
    except TimeoutError:
        raise
    except OSError as error:
        raise AnswerLost(call, str(error)) from error
    finally:
        await ended(stream)


def _late(call: Call) -> AnswerLost:
    return AnswerLost(call, f"the server in this process did not answer within {call.timeout:g} s")


def _headers(response: Response) -> Mapping[str, str]:
    headers = {"content-type": response.content_type}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers
