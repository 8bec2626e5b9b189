"""An explanation on paper: how the object stands, then each cause with its chain, its evidence and its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nagaya.cli.output.age import age
from nagaya.cli.output.sentence import Line, sentence
from nagaya.insight.cause.cause import Weight

if TYPE_CHECKING:
    from nagaya.insight.cause.cause import Cause
    from nagaya.insight.cause.explanation import Explanation
    from nagaya.insight.cause.step import Step

_STYLES: Final = {
    Weight.HELD: "bold red",
    Weight.FAILED: "bold red",
    Weight.UNKNOWN: "bold yellow",
    Weight.WORKING: "bold cyan",
}


def told(found: Explanation, now: datetime, width: int | None) -> Iterator[Line]:
    """The whole answer. Without a width, in a pipe, each sentence stays in its line."""
    style = "bold green" if found.well else "bold"
    yield from sentence("", f"{found.summary}{_since(found.since, now)}.", width, style)
    for fact in found.facts:
        yield from sentence("", fact, width)
    for number, cause in enumerate(found.causes, 1):
        yield "", ""
        yield from _cause(cause, f"{number}. " if len(found.causes) > 1 else "", now, width)


def _cause(cause: Cause, number: str, now: datetime, width: int | None) -> Iterator[Line]:
    yield from sentence(number, f"{_certain(cause)}{cause.headline}.", width, _STYLES[cause.weight])
    indent = " " * len(number) if number else "  "
    alone = len(cause.steps) == 1 and cause.steps[0].sentence in cause.headline
    for at, step in enumerate(() if alone else cause.steps):
        lead = f"{indent}because " if at else indent
        yield from sentence(lead, _told(step, now), width)
    for title in cause.also:
        yield from sentence(f"{indent}also    ", f"{title} waits for it.", width)
    for each in cause.evidence:
        yield from sentence(f"{indent}seen    ", each, width, "bright_black")
    for line in cause.log:
        yield f"{indent}        | {line}", "bright_black"
    if cause.remedy:
        label = "next" if cause.weight is Weight.WORKING else "fix "
        yield from sentence(f"{indent}{label}    ", cause.remedy, width, "green")


def _certain(cause: Cause) -> str:
    return {Weight.UNKNOWN: "Not known: ", Weight.WORKING: "On its way: "}.get(cause.weight, "")


def _told(step: Step, now: datetime) -> str:
    return f"{step.sentence}{_since(step.since, now)}"


def _since(since: datetime | None, now: datetime) -> str:
    if since is None:
        return ""
    return f", since {since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC ({age(since, now)})"
