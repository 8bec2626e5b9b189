"""How a call of PVE's API fails.

PVE says why in the reason phrase of the status line, and again in the body. Which number it takes follows from where
the code gave up: 400 for parameters, 403 for rights, 500 for everything that "dies".
"""

from __future__ import annotations

from collections.abc import Mapping


class Failure(Exception):
    """A call that failed. `message` is what PVE puts into the body; the reason phrase is its first line."""

    status = 500

    def __init__(self, message: str, *, status: int | None = None, errors: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors
        if status is not None:
            self.status = status

    @property
    def reason(self) -> str:
        """What stands in the status line."""
        return self.message.partition("\n")[0]

    @property
    def text(self) -> str:
        """As it reads inside another error or a task: one that has a number of its own shows it, and its errors."""
        if self.status == Failure.status:
            return self.message
        return f"{self.status} {self.message}" + "".join(
            f"{name}: {why}\n" for name, why in (self.errors or {}).items()
        )


class ParameterFailure(Failure):
    """Parameters that PVE refuses, each with its reason."""

    status = 400

    def __init__(self, errors: Mapping[str, str], message: str = "Parameter verification failed.") -> None:
        super().__init__(message + "\n", errors=errors)


class Forbidden(Failure):
    """A right that the caller lacks. PVE names path and privilege, or, in some calls, nothing at all."""

    status = 403

    def __init__(self, what: str = "", privileges: str = "") -> None:
        named = ", ".join(each for each in (what, privileges) if each)
        super().__init__(f"Permission check failed ({named})\n" if named else "Permission check failed\n")


class Unanswered(Exception):
    """The connection ends without an answer."""


class Unconnected(Exception):
    """No connection to the host that was contacted: it is off, or its address leads nowhere."""


class Unproxied(Exception):
    """The contacted host could not pass the call on: 595 before the connection stood, 596 after. The body is empty."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
