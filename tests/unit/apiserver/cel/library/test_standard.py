from __future__ import annotations

from collections.abc import Callable

from support.subtest_cases import subtest_cases

CASES = [
    ("timestamp('2023-10-05T14:30:15.123Z').getFullYear()", "2023"),
    ("timestamp('2023-10-05T14:30:15.123Z').getMonth()", "9"),
    ("timestamp('2023-10-05T14:30:15.123Z').getDayOfYear()", "277"),
    ("timestamp('2023-10-05T14:30:15.123Z').getDayOfMonth()", "4"),
    ("timestamp('2023-10-05T14:30:15.123Z').getDate()", "5"),
    ("timestamp('2023-10-05T14:30:15.123Z').getDayOfWeek()", "4"),
    ("timestamp('2023-10-05T14:30:15.123Z').getHours()", "14"),
    ("timestamp('2023-10-05T14:30:15.123Z').getHours('America/New_York')", "10"),
    ("timestamp('2023-10-05T14:30:15.123Z').getHours('+05:30')", "20"),
    ("timestamp('2023-10-05T14:30:15.123Z').getHours('-02:00')", "12"),
    ("timestamp('2023-10-05T14:30:15.123Z').getHours('Nope/Zone')", "error: unknown time zone Nope/Zone"),
    ("timestamp('2023-10-05T14:30:15.123Z').getHours('a:b')", 'error: strconv.Atoi: parsing "a": invalid syntax'),
    ("timestamp('2023-10-05T14:30:15.123Z').getMinutes('+05:30')", "0"),
    ("timestamp('2023-10-05T14:30:15.123Z').getSeconds()", "15"),
    ("timestamp('2023-10-05T14:30:15.123Z').getMilliseconds()", "123"),
    ("timestamp('1969-12-31T23:59:59.5Z').getMilliseconds()", "500"),
    ("timestamp('1969-12-31T23:59:59.5Z').getSeconds()", "59"),
    ("duration('1h30m').getHours()", "1"),
    ("duration('-1h30m').getMinutes()", "-90"),
    ("duration('1.5s').getSeconds()", "1"),
    ("duration('1.5s').getMilliseconds()", "1500"),
    ("duration('100ms').getMilliseconds()", "100"),
    ("int(timestamp('2020-01-01T00:00:00Z'))", "1577836800"),
    ("int(timestamp('1969-12-31T23:59:59.5Z'))", "-1"),
    ("int(duration('1s'))", "1000000000"),
    ("string(timestamp('2020-01-01T00:00:00.5+02:00'))", "'2020-01-01T00:00:00.5+02:00'"),
    ("string(duration('1h'))", "'3600s'"),
    ("string(duration('-0.001s'))", "'-0.001s'"),
    ("timestamp('2020-01-01')", "refused 1:11: invalid timestamp argument"),
    ("timestamp('2020-13-01T00:00:00Z')", "refused 1:11: invalid timestamp argument"),
    ("timestamp('2020-01-01T25:00:00Z')", "refused 1:11: invalid timestamp argument"),
    ("timestamp('2020-01-01T1:00:00Z')", "timestamp 2020-01-01T01:00:00Z"),
    ("timestamp('2020-01-01T00:00:00')", "refused 1:11: invalid timestamp argument"),
    ("timestamp('2020-01-01t00:00:00z')", "refused 1:11: invalid timestamp argument"),
    ("timestamp(dyn('0000-01-01T00:00:00Z'))", "unplannable: timestamp overflow"),
    ("duration('1d')", "refused 1:10: invalid duration argument"),
    ("duration('1')", "refused 1:10: invalid duration argument"),
    ("duration('')", "refused 1:10: invalid duration argument"),
    ("duration('1h1')", "refused 1:10: invalid duration argument"),
    ("duration('.5s')", "duration 0.5s"),
    ("duration('1.s')", "duration 1s"),
    ("duration('1us')", "duration 0.000001s"),
    ("duration('1µs')", "duration 0.000001s"),
    ("duration('+1s')", "duration 1s"),
    ("duration('-')", "refused 1:10: invalid duration argument"),
    ("duration('9223372036s')", "duration 9223372036s"),
    ("duration('9223372037s')", "refused 1:10: invalid duration argument"),
    ("timestamp(253402300799)", "timestamp 9999-12-31T23:59:59Z"),
    ("timestamp(253402300800)", "refused 1:11: invalid timestamp argument"),
]


@subtest_cases(("expression", "expected"), CASES)
def test_dates_and_durations_as_the_real_server_has_them(
    outcome_of: Callable[[str], str], expression: str, expected: str
) -> None:
    assert outcome_of(expression) == expected
