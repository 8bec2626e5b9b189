from __future__ import annotations

import io

import pytest

from nagaya.binaries.progress import PlainReporter, Silent, amount, duration, reporter_for
from nagaya.binaries.terminal import TerminalReporter
from support.standing_clock import StandingClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (605, "10 min 05 s")]
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_amounts_are_said_in_their_unit() -> None:
    assert amount(12_500_000, 100_000_000, "bytes") == "12.5 of 100.0 MB (12%)"
    assert amount(310, None, "packages") == "310 packages"
    assert amount(0, None, "packages") == ""
    assert amount(5, None, "seconds") == ""


def test_a_log_gets_a_line_at_the_start_now_and_then_and_at_the_end(
    reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with reporter.activity("Building", "packages") as activity:
        activity.total(2000)
        for step in range(1, 41):
            clock.seconds += 1
            activity.note("kubelet")
            activity.reached(step * 10)
            activity.tick()
    assert said.getvalue().splitlines() == [
        "Building ...",
        "Building: 140 of 2000 packages (7%), kubelet, 15 s so far",
        "Building: 290 of 2000 packages (14%), kubelet, 30 s so far",
        "Building: 400 packages in 40 s",
    ]


def test_work_that_cannot_be_counted_still_says_that_it_goes_on(
    reporter: PlainReporter, said: io.StringIO, clock: StandingClock
) -> None:
    with reporter.activity("Waiting", "seconds") as activity:
        clock.seconds += 16
        activity.tick()
    assert said.getvalue().splitlines() == ["Waiting ...", "Waiting: 16 s so far", "Waiting: done in 16 s"]


def test_work_that_fails_does_not_say_that_it_is_done(reporter: PlainReporter, said: io.StringIO) -> None:
    with pytest.raises(KeyboardInterrupt), reporter.activity("Building", "packages"):
        raise KeyboardInterrupt
    assert said.getvalue() == "Building ...\n"


def test_a_pipe_gets_lines_and_a_terminal_gets_a_bar(clock: StandingClock) -> None:
    assert isinstance(reporter_for(io.StringIO(), clock), PlainReporter)
    assert isinstance(reporter_for(Terminal(), clock), TerminalReporter)


def test_a_terminal_shows_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    reporter = TerminalReporter(stream)
    reporter.say("a [line] that stays")
    with reporter.activity("Downloading", "bytes") as activity:
        activity.total(100_000_000)
        activity.note("second [part]")
        activity.reached(50_000_000)
        activity.tick()
    shown = stream.getvalue()
    assert "a [line] that stays\n" in shown
    assert "Downloading" in shown
    assert "50.0 of 100.0 MB (50%)" in shown
    assert "second [part]" in shown


def test_those_who_want_no_word_get_none(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Silent()
    reporter.say("nothing")
    with reporter.activity("nothing", "bytes") as activity:
        activity.total(1)
        activity.reached(1)
        activity.note("nothing")
        activity.tick()
    assert capsys.readouterr() == ("", "")
