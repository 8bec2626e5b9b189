"""Ages as kubectl writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nagaya.cli.output.age import age, duration
from support.subtest_cases import subtest_cases

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@subtest_cases(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE + 30, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (9 * YEAR, "9y"),
    ],
)
def test_the_nearer_the_finer(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_unknown_moment_has_no_age() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert age(None, now) == ""
    assert age(now - timedelta(seconds=3), now) == "3s"
