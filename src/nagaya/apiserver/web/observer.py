"""Who is told about every request: the audit log and the metrics.

An answer that is a stream is done, for an observer, when it starts; whoever wants to know of its end puts `followed`
around it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
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


async def followed(
    stream: AsyncIterator[bytes], on_end: Callable[[], None], on_chunk: Callable[[bytes], None] | None = None
) -> AsyncIterator[bytes]:
    """The same stream, with someone who is told of its pieces and, however it ends, of its end."""
    try:
        async for chunk in stream:
            if on_chunk is not None:
                on_chunk(chunk)
            yield chunk
    finally:
        on_end()
        await ended(stream)


async def ended(stream: AsyncIterator[bytes]) -> None:
    """End a stream that nobody will read on."""
    if isinstance(stream, AsyncGenerator):
        await stream.aclose()
