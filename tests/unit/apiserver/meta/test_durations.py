from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.meta import durations
from support.subtest_cases import subtest_cases

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@subtest_cases(
    ("seconds", "shown"),
    [
        (-2.5, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (130, "2m10s"),
        (10 * MINUTE + 30, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 12 * MINUTE, "3h12m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 5 * HOUR, "2d5h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (8 * YEAR + 3 * DAY, "8y"),
        (5000 * YEAR, "292y"),
    ],
)
def test_a_duration_has_few_figures(seconds: float, shown: str) -> None:
    assert durations.human(seconds) == shown


def test_an_age_is_counted_from_the_given_now() -> None:
    assert durations.since("2026-11-15T23:00:00Z", NOW) == "60m"
    assert durations.since("2026-11-15T23:00:00.5+00:00", NOW) == "59m"
    assert durations.since("2026-11-17T00:00:00Z", NOW) == "<invalid>"


@pytest.mark.parametrize("missing", [None, "", "0001-01-01T00:00:00Z"])
def test_without_a_date_the_age_is_unknown(missing: str | None) -> None:
    assert durations.since(missing, NOW) == "<unknown>"


@pytest.mark.parametrize("text", ["yesterday", "2026-11-15", "20261115T000000Z", "2026-13-01T00:00:00Z", "1 2"])
def test_what_is_no_rfc_3339_date_is_invalid(text: str) -> None:
    assert durations.parse_timestamp(text) is None
    assert durations.since(text, NOW) == "<invalid>"


def test_dates_at_the_edge_of_time_are_no_problem() -> None:
    assert durations.since("0001-01-01T00:00:00+01:00", NOW) == "292y"
    assert durations.since("9999-12-31T23:59:59-10:00", NOW) == "<invalid>"


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_what_is_older_never_looks_younger(seconds: int, more: int) -> None:
    assert _value(durations.human(seconds)) <= _value(durations.human(seconds + more))


def _value(shown: str) -> timedelta:
    units = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}
    total, digits = 0, ""
    for char in shown:
        if char.isdigit():
            digits += char
        else:
            total += int(digits) * units[char]
            digits = ""
    return timedelta(seconds=total)
