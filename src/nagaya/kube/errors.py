"""What an API server refuses, as exceptions that callers can tell apart by class.

The class follows the `reason` of the Status that the server sent and, where there is none, the HTTP code: a load
balancer in between knows codes only. `str` of an error is a sentence with what was asked and what the server said; it
never contains headers or bodies of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Final

from nagaya.foreign_answers import read_json
from nagaya.foreign_text import cut, escape, escape_line
from nagaya.kube.transport import NOTHING, Answer, Call

_REASON_LIMIT: Final = 100
_MESSAGE_LIMIT: Final = 8000
_TEXT_LIMIT: Final = 500  # of a body that is not a Status: enough for a proxy's complaint, not for its whole page


class ApiError(Exception):
    """The server answered, and the answer is no."""

    def __init__(self, call: Call, code: int, status: Mapping[str, Any], headers: Mapping[str, str] = NOTHING) -> None:
        self.call = call
        self.code = code
        self.status = status
        self.reason: str = escape_line(_text(status.get("reason")), _REASON_LIMIT)
        self.message: str = cut(escape(_text(status.get("message"))), _MESSAGE_LIMIT)
        details = status.get("details")
        self.details: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
        self.retry_after = _retry_after(self.details, headers)
        super().__init__(call, code, self.message)

    @property
    def causes(self) -> Sequence[Mapping[str, Any]]:
        """The single faults that the server found, each with `reason`, `message` and `field`."""
        causes = self.details.get("causes")
        return causes if isinstance(causes, list) else ()

    def has_cause(self, reason: str) -> bool:
        """Whether one of the causes has this reason."""
        return any(isinstance(cause, Mapping) and cause.get("reason") == reason for cause in self.causes)

    def __str__(self) -> str:
        reason = f" {self.reason}" if self.reason else ""
        return f"{self.call}: {self.message or 'the server gave no explanation'} ({self.code}{reason})"


class BadRequest(ApiError):
    """400: the server does not understand the request."""


class Unauthorized(ApiError):
    """401: the server does not know who is asking."""


class Forbidden(ApiError):
    """403: whoever is asking may not."""


class NotFound(ApiError):
    """404: there is no such object, or no such kind."""


class MethodNotAllowed(ApiError):
    """405: the resource does not support this verb."""


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""


class Conflict(ApiError):
    """409: the object is not in the state that the request was made for, or another manager owns a field."""


class Expired(ApiError):
    """410: the history that a watch or a page needs is gone. List again."""


class Invalid(ApiError):
    """422: the object does not fulfil its schema or its rules."""


class TooManyRequests(ApiError):
    """429: not now. `retry_after` says when, if the server does."""


class ServerError(ApiError):
    """5xx: the server failed, or what stands before it."""


class Timeout(ServerError):
    """The server gave up on the request. It may have taken effect."""


class ServiceUnavailable(ServerError):
    """503: the server takes no requests now."""


_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Expired,
    "Expired": Expired,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": ServerError,
    "ServerTimeout": Timeout,
    "Timeout": Timeout,
    "ServiceUnavailable": ServiceUnavailable,
}
_BY_CODE: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
    503: ServiceUnavailable,
    504: Timeout,
}


def from_answer(answer: Answer, call: Call) -> ApiError:
    """The error that an answer with a status of 300 or more tells of: nothing here follows redirects."""
    return from_status(_read(answer.body), call, answer.status, answer.headers)


def from_status(
    status: Mapping[str, Any], call: Call, code: int | None = None, headers: Mapping[str, str] = NOTHING
) -> ApiError:
    """The error that a Status tells of: from an answer, or from an ERROR event of a watch, which has no code else."""
    if code is None:
        told = status.get("code")
        code = told if isinstance(told, int) and 100 <= told < 1000 else 500
    found = _BY_REASON.get(_text(status.get("reason"))) or _BY_CODE.get(code)
    if found is None:
        found = ServerError if code >= 500 else ApiError
    return found(call, code, status, headers)


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        status = read_json(body)
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return status
    return {"message": " ".join(body[: 4 * _TEXT_LIMIT].decode(errors="replace").split())[:_TEXT_LIMIT]}


def _retry_after(details: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    """Seconds. The header may also be a date, which no Kubernetes API sends."""
    told = headers.get("retry-after") or details.get("retryAfterSeconds")
    try:
        seconds = float(told) if told else None
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if seconds is not None and 0 <= seconds < inf else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
