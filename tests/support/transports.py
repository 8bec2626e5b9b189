"""Transports for tests of what stands on them: one that says what it is told to say, and one that loses things."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Transport, Unreachable

Said = Answer | Exception | Callable[[Call], Answer]


def says(status: int, content: Any = None, **headers: str) -> Answer:
    """An answer with JSON in it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, content if isinstance(content, bytes) else json.dumps(content).encode())


def refuses(code: int, reason: str, message: str = "no", retry_after: str = "", **details: Any) -> Answer:
    """An answer with a Status in it."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    headers = {"retry_after": retry_after} if retry_after else {}
    return says(code, {**status, "message": message, "details": details}, **headers)


class ScriptedStream:
    """A stream of the given chunks; an exception among them is raised."""

    def __init__(self, answer: Answer, chunks: Iterable[bytes | Exception]) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._body = answer.body
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def body(self) -> bytes:
        return self._body


class Scripted:
    """Gives the next thing it was told to say, and remembers what it was asked."""

    def __init__(self, *said: Said, chunks: Iterable[bytes | Exception] = ()) -> None:
        self.said = list(said)
        self.chunks = chunks
        self.calls: list[Call] = []
        self.open_streams = 0

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        await asyncio.sleep(0)
        said = self.said.pop(0)
        if isinstance(said, Exception):
            raise said
        return said(call) if callable(said) else said

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        answer = await self.send(call)
        self.open_streams += 1
        try:
            yield ScriptedStream(answer, self.chunks)
        finally:
            self.open_streams -= 1

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def body(self) -> Any:
        """The JSON that was sent last."""
        return json.loads(self.calls[-1].body or b"null")


class Losing:
    """Another transport, except that things get lost: requests, answers, or both after a long wait."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.calls: list[Call] = []
        self.refuse = False  # requests do not get through
        self.lose_answers = False  # requests take effect, answers do not come
        self.hang = False  # nothing ever comes

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        if self.hang:
            await asyncio.sleep(call.timeout or 3600)
            raise AnswerLost(call, "hung")
        if self.refuse:
            raise Unreachable(call, "refused")
        answer = await self._inner.send(call)
        if self.lose_answers:
            raise AnswerLost(call, "lost")
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        async with self._inner.stream(call) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()

    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET"]
