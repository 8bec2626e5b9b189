"""The manners of a client: not too fast, never without leave to write, and again only where that does no harm.

What always holds:

- A write is sent again only if the server has not seen it, or has said itself when to try again. What may have taken
  effect is never repeated here: the work queue looks at the world first.
- Reads are sent again after any fault that passes.
- The leave to write is asked for at the last moment before each attempt, after every wait.
- Attempts are few and their pauses short. A server that stays away is the business of whoever called.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from nagaya.kube.errors import ApiError, ServiceUnavailable, TooManyRequests, from_answer
from nagaya.kube.rate import RateLimit
from nagaya.kube.transport import (
    Answer,
    AnswerLost,
    AnswerUnusable,
    Call,
    NoAnswer,
    StreamAnswer,
    Transport,
    Unreachable,
)
from nagaya.world import World

log = logging.getLogger(__name__)

ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 0.1  # seconds; doubled with every attempt
LONGEST_PAUSE: Final = 10.0  # a server that wants to be left alone for longer is reported instead
_KEPT_WARNINGS: Final = 1000
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')

Told = Callable[[str, str, int, float], None]
"""Is told of each request: verb, resource, status (0 without an answer), seconds."""


def nothing() -> None:
    """A guard that lets everything pass."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call is for, in the words of metrics, and how it may be treated."""

    verb: str
    resource: str
    writes: bool = False
    patient: bool = True  # whether a server that says "not now" is asked again


class Calls:
    """Sends calls over one transport."""

    def __init__(
        self,
        transport: Transport,
        world: World,
        limit: RateLimit | None = None,
        guard: Callable[[], None] = nothing,
        told: Told | None = None,
    ) -> None:
        self.transport = transport
        self._world = world
        self._limit = limit
        self._guard = guard
        self._told = told
        self._warned: set[str] = set()

    def unguarded(self) -> Calls:
        """The same without limit and guard."""
        return Calls(self.transport, self._world, told=self._told)

    async def send(self, call: Call, purpose: Purpose) -> Answer:
        """The answer, if it is a good one. Raises ApiError or NoAnswer."""
        attempt = 1
        while True:
            try:
                await self._leave(purpose)
                return await self._send_once(call, purpose)
            except (ApiError, NoAnswer) as error:
                await self._pause(error, purpose, attempt)
            attempt += 1

    @asynccontextmanager
    async def stream(self, call: Call, purpose: Purpose) -> AsyncIterator[StreamAnswer]:
        """A good answer that is read as it comes. Raises ApiError or NoAnswer."""
        attempt = 1
        async with AsyncExitStack() as stack:
            while True:
                try:
                    await self._leave(purpose)
                    answer = await self._open_once(stack, call, purpose)
                    break
                except (ApiError, NoAnswer) as error:
                    await stack.aclose()
                    await self._pause(error, purpose, attempt)
                attempt += 1
            yield answer

    async def _leave(self, purpose: Purpose) -> None:
        if self._limit is not None:
            await self._limit.wait()
        if purpose.writes:
            self._guard()

    async def _send_once(self, call: Call, purpose: Purpose) -> Answer:
        begin = self._world.clock.monotonic()
        code = 0
        try:
            answer = await self.transport.send(call)
            code = answer.status
        finally:
            self._tell(purpose, code, begin)
        if "warning" in answer.headers:
            self._warn(answer.headers["warning"])
        if answer.status >= 300:
            raise from_answer(answer, call)
        return answer

    async def _open_once(self, stack: AsyncExitStack, call: Call, purpose: Purpose) -> StreamAnswer:
        begin = self._world.clock.monotonic()
        code = 0
        try:
            answer = await stack.enter_async_context(self.transport.stream(call))
            code = answer.status
        finally:
            self._tell(purpose, code, begin)
        if answer.status >= 300:
            raise from_answer(Answer(answer.status, answer.headers, await answer.body()), call)
        return answer

    async def _pause(self, error: ApiError | NoAnswer, purpose: Purpose, attempt: int) -> None:
        """Wait until the call may be made again. Raises the error if it may not."""
        pause = FIRST_PAUSE * 2 ** (attempt - 1)
        if isinstance(error, TooManyRequests | ServiceUnavailable):
            told = error.retry_after
            again = purpose.patient and (told is not None or not purpose.writes)
            pause = max(pause, told or 0.0)
        else:
            lost = isinstance(error, AnswerLost) and not isinstance(error, AnswerUnusable)
            again = isinstance(error, Unreachable) or (lost and not purpose.writes)
        if not again or attempt >= ATTEMPTS or pause > LONGEST_PAUSE:
            raise error
        # Later by up to a half, so that those who were turned away together do not come back together.
        await asyncio.sleep(pause * (1 + self._world.random.random() / 2))

    def _tell(self, purpose: Purpose, code: int, begin: float) -> None:
        if self._told is not None:
            self._told(purpose.verb, purpose.resource, code, self._world.clock.monotonic() - begin)

    def _warn(self, header: str) -> None:
        for text in _WARNING.findall(header):
            if text not in self._warned and len(self._warned) < _KEPT_WARNINGS:
                self._warned.add(text)
                log.info("the API server warns: %s", re.sub(r"\\(.)", r"\1", text))
