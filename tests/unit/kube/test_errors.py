from __future__ import annotations

import pytest

from nagaya.kube import errors
from nagaya.kube.errors import ApiError, from_answer, from_status
from nagaya.kube.transport import Answer, Call
from support.subtest_cases import subtest_cases
from support.transports import refuses, says

CALL = Call("PATCH", "/api/v1/namespaces/a/secrets/b", {}, {"authorization": "Bearer hidden"}, b"hidden")


@subtest_cases(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (500, "ServerTimeout", errors.Timeout),
        (503, "ServiceUnavailable", errors.ServiceUnavailable),
        (504, "Timeout", errors.Timeout),
        (413, "RequestEntityTooLarge", ApiError),
    ],
)
def test_the_reason_decides_the_class(code: int, reason: str, kind: type[ApiError]) -> None:
    assert type(from_answer(refuses(code, reason), CALL)) is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [(404, errors.NotFound), (409, errors.Conflict), (502, errors.ServerError), (418, ApiError), (302, ApiError)],
)
def test_an_answer_without_a_status_is_judged_by_its_code(code: int, kind: type[ApiError]) -> None:
    error = from_answer(Answer(code, {}, b"<html>\n  upstream is away </html>"), CALL)
    assert type(error) is kind
    assert error.message == "<html> upstream is away </html>"


def test_an_error_is_a_sentence_without_our_headers_and_bodies() -> None:
    error = from_answer(refuses(409, "Conflict", "the object has been modified"), CALL)
    assert str(error) == "PATCH /api/v1/namespaces/a/secrets/b: the object has been modified (409 Conflict)"
    assert "hidden" not in f"{error} {error!r} {CALL!r}"


def test_an_empty_answer_is_still_a_sentence() -> None:
    assert str(from_answer(Answer(500, {}, b""), CALL)).endswith("the server gave no explanation (500)")


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (refuses(429, "TooManyRequests", retry_after="3"), 3.0),
        (refuses(429, "TooManyRequests", retryAfterSeconds=7), 7.0),
        (refuses(429, "TooManyRequests", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), None),
        (refuses(429, "TooManyRequests"), None),
    ],
)
def test_when_to_try_again_comes_from_the_header_or_the_details(answer: Answer, seconds: float | None) -> None:
    assert from_answer(answer, CALL).retry_after == seconds


def test_causes_are_found_by_reason() -> None:
    answer = refuses(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget", "message": "needs 2"}])
    error = from_answer(answer, CALL)
    assert error.has_cause("DisruptionBudget")
    assert not error.has_cause("FieldValueInvalid")


def test_a_status_in_a_watch_brings_its_own_code() -> None:
    error = from_status({"code": 410, "reason": "Expired", "message": "too old resource version"}, CALL)
    assert isinstance(error, errors.Expired)
    assert error.code == 410


def test_strange_bodies_do_not_break_the_report() -> None:
    for body in (b"\xff\xfe", b"[1]", b'{"kind":"Status","reason":5,"details":[],"message":{}}'):
        assert isinstance(from_answer(says(500, body), CALL), errors.ServerError)
