"""Lengths of time as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click
import pytest

from nagaya.cli.output.length import read_length, read_moment, seconds_of

CONTEXT = click.Context(click.Command("x"))
OPTION = click.Option(["--x"])


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172800), ("0.5s", 0.5)]
)
def test_units_may_be_put_together(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds
    assert read_length(CONTEXT, OPTION, text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "-5s", "1h 30m", "٣s"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 90s, 10m"):
        read_length(CONTEXT, OPTION, text)


def test_a_moment_is_so_long_ago_or_a_date() -> None:
    assert read_moment(CONTEXT, OPTION, "10m") == timedelta(minutes=10)
    assert read_moment(CONTEXT, OPTION, "2026-01-31T12:00:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert read_moment(CONTEXT, OPTION, "2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    with pytest.raises(click.BadParameter, match="is no moment"):
        read_moment(CONTEXT, OPTION, "yesterday")


def test_what_is_not_given_stays_so() -> None:
    assert read_length(CONTEXT, OPTION, None) is None
    assert read_moment(CONTEXT, OPTION, None) is None
