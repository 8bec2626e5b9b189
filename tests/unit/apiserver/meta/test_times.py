"""Dates are kept in UTC, and refused in the words of Go's reader."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import times
from nagaya.apiserver.meta.times import TimeError
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("written", "kept"),
    [
        ("2024-02-29T12:34:56Z", "2024-02-29T12:34:56Z"),
        ("2023-12-31T23:59:59.999999999Z", "2023-12-31T23:59:59Z"),
        ("2023-12-31T23:59:59+01:00", "2023-12-31T22:59:59Z"),
        ("2023-12-31T23:59:59-00:01", "2024-01-01T00:00:59Z"),
        ("2023-01-01T5:00:00Z", "2023-01-01T05:00:00Z"),
        ("2023-01-01T05:00:00,5Z", "2023-01-01T05:00:00Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00+23:59", "-0001-12-31T00:01:00Z"),
        ("9999-12-31T23:59:59-23:59", "10000-01-01T23:58:59Z"),
    ],
)
def test_a_time_is_kept_in_utc_with_whole_seconds(written: str, kept: str) -> None:
    assert times.canonical(written) == kept


def test_the_zero_date_is_no_date() -> None:
    assert times.canonical("0001-01-01T00:00:00Z") is None
    assert times.canonical("0001-01-01T01:00:00+01:00") is None
    assert times.canonical_micro("0001-01-01T00:00:00.000000Z") is None


def test_a_micro_time_has_exactly_six_decimals() -> None:
    assert times.canonical_micro("2024-01-02T03:04:05.123456+02:00") == "2024-01-02T01:04:05.123456Z"
    with pytest.raises(TimeError) as caught:
        times.canonical_micro("2024-01-02T03:04:05Z")
    assert str(caught.value) == (
        'parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
    )


@subtest_cases(
    ("written", "problem"),
    [
        ("5", ' as "2006-01-02T15:04:05Z07:00": cannot parse "5" as "2006"'),
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2023-01-01 00:00:00Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T"'),
        ("2023-01-01T00:00:00", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'),
        ("2023-13-01T00:00:00Z", ": month out of range"),
        ("2023-02-29T00:00:00Z", ": day out of range"),
        ("2023-01-01T24:00:00Z", ": hour out of range"),
        ("2023-01-01T00:60:00Z", ": minute out of range"),
        ("2023-01-01T00:00:60Z", ": second out of range"),
        ("2023-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2023-01-01T00:00:00-25:61", ": time zone offset minute out of range"),
        ("2023-01-01T00:00:00Zx", ': extra text: "x"'),
    ],
)
def test_what_is_no_date_is_refused_in_gos_words(written: str, problem: str) -> None:
    with pytest.raises(TimeError) as caught:
        times.canonical(written)
    assert str(caught.value) == f'parsing time "{written}"{problem}'


def test_messages_escape_what_is_not_ascii() -> None:
    with pytest.raises(TimeError) as caught:
        times.parse('é"')
    assert r'parsing time "\xc3\xa9\""' in str(caught.value)


def test_a_moment_is_written_in_utc() -> None:
    moment = datetime(2025, 3, 4, 5, 6, 7, 890123, timezone(timedelta(hours=2)))
    assert times.of(moment) == "2025-03-04T03:06:07Z"
    assert times.micro_of(moment) == "2025-03-04T03:06:07.890123Z"


def test_a_date_outside_of_pythons_calendar_is_refused_as_a_moment() -> None:
    with pytest.raises(TimeError, match="out of range"):
        times.moment("0000-01-01T00:00:00Z")


dates = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
offsets = st.integers(-23 * 60, 23 * 60)


@given(dates, offsets)
def test_every_date_survives_being_written_with_any_offset(date: datetime, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    moment = date.replace(tzinfo=UTC)
    written = moment.astimezone(zone).isoformat(timespec="microseconds")
    assert times.canonical_micro(written) == times.micro_of(moment)
    assert times.moment(written) == moment
    assert times.canonical(written) == times.of(moment)


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_refused(text: str) -> None:
    for read in (times.canonical, times.canonical_micro):
        with suppress(TimeError):
            kept = read(text)
            assert kept is None or kept.endswith("Z")
