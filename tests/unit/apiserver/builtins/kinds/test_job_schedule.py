"""Schedules in cron's notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds.job_schedule import ScheduleError, check, zone_problems


@given(st.integers(0, 59), st.integers(0, 23), st.integers(1, 31), st.integers(1, 12), st.integers(0, 6))
def test_every_moment_is_a_schedule(minute: int, hour: int, day: int, month: int, weekday: int) -> None:
    check(f"{minute} {hour} {day} {month} {weekday}")


@given(st.text("0123456789*/-,?@ abTZ=", max_size=20))
def test_any_text_is_a_schedule_or_refused_with_words(text: str) -> None:
    try:
        check(text)
    except ScheduleError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
    ],
)
def test_what_is_no_schedule_is_told_why(schedule: str, problem: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        check(schedule)
    assert str(refused.value) == problem


def test_a_time_zone_has_to_exist_and_to_be_explicit() -> None:
    assert zone_problems("Etc/UTC") == []
    assert zone_problems("Nowhere") == ["unknown time zone Nowhere"]
    assert "explicit" in zone_problems("Local")[0]
