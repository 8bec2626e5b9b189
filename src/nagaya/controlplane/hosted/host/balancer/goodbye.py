"""When a connection can be ended without a client losing a request, from who said how much and when. Pure.

Nothing that passes can be read, so this is what counts: a client speaks, the API server answers, and is silent when it
has said all. Behind an answer is the place for an end. The rest of this is about what looks like an answer:

- the greetings of TLS, which are the first two turns of a client (three, if the API server asks it to greet again);
- "100 Continue", after which the client goes on to speak: no real answer is as short;
- a pause within an answer, which is shorter than the silence that is waited for.

What looks like an answer and goes on, as a watch does, is ended like one. The API server is told that the client has
gone, ends it in good order, and all that it says is passed on.
"""

from __future__ import annotations

SILENCE = 0.5
"""Seconds after which an API server has said all. The last bytes of one answer for each connection wait for so long."""
YOUNG = 2.0
"""Age and silence of connections that may still be exchanging greetings."""
IDLE = 20.0
"""Seconds without a byte after which a connection is ended without waiting for another request."""
GREETINGS = 2
INTERIM = 100
"""Bytes, encrypted, that are less than any answer."""


class Talk:
    """Who said what on one connection."""

    def __init__(self, now: float) -> None:
        self._began = now
        self.last = now
        """When either of the two last said something."""
        self._turns = 0
        self._answer = 0
        self._asking = False

    def client_spoke(self, now: float) -> None:
        """The client has said something."""
        if not self._asking:
            self._asking = True
            self._turns += 1
            self._answer = 0
        self.last = now

    def server_spoke(self, length: int, now: float) -> None:
        """The API server has said so many bytes."""
        self._answer += length
        if self._answer > INTERIM:
            self._asking = False
        self.last = now

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for an answer."""
        return self._asking

    @property
    def is_answer(self) -> bool:
        """Whether what the API server said last belongs to an answer, whose end can be the end of the connection."""
        return not self._asking and self._turns > GREETINGS

    def ends_at(self, holding: bool) -> float | None:
        """From when on the connection can be ended if nothing more is said; None if somebody waits for an answer.

        `holding`: the end of an answer has not been given to the client yet.
        """
        if self._asking:
            return None
        if not holding:
            return self.last + IDLE
        return self.last + (YOUNG if self.last - self._began < YOUNG else SILENCE)
