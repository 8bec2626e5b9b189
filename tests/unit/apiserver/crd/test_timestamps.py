from __future__ import annotations

import pytest

from nagaya.apiserver.crd import timestamps
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("text", "problem"),
    [
        ("2020-01-01T00:00:00Z", ""),
        ("2020-02-29T23:59:59.123+01:00", ""),
        ("2020-1-01T00:00:00Z", 'as "2006-01-02T15:04:05Z07:00": cannot parse "1-01T00:00:00Z" as "01"'),
        ("2020-01-01", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2020-01-01T00:00:00", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'),
        ("2020-13-01T00:00:00Z", ": month out of range"),
        ("2021-02-29T00:00:00Z", ": day out of range"),
        ("2020-01-01T24:00:00Z", ": hour out of range"),
        ("2020-01-01T00:00:00Zx", ': extra text: "x"'),
    ],
)
def test_a_date_is_refused_in_gos_words(text: str, problem: str) -> None:
    found = timestamps.problem(text)
    assert found.removeprefix(f'parsing time "{text}"').strip() == problem.strip()


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:30:00+01:00", "2019-12-31T23:30:00Z"),
        ("2020-01-01T00:00:00.9-01:30", "2020-01-01T01:30:00Z"),
        ("0001-01-01T00:00:00Z", ""),
    ],
)
def test_a_date_is_written_back_in_whole_seconds_of_utc(text: str, utc: str) -> None:
    assert timestamps.in_utc(text) == utc
