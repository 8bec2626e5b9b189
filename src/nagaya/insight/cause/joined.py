"""Causes put together: the same one once, whichever ways lead to it, and equal ones of many objects as one.

Objects are equal if the same is wrong with them: their own names, and those of their VMs and tasks, make no difference.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from nagaya.insight.cause.cause import Cause, Weight
from nagaya.insight.cause.leaf import REPLACED
from nagaya.insight.cause.step import Step

_OWN: Final = re.compile(r"UPID:\S+|\bVM \d+")
_BETWEEN: Final = "MachineSet"
"""The kind that says nothing of its own when it stands between two others."""
ALSO: Final = 5


def joined(found: Iterable[Cause]) -> tuple[Cause, ...]:
    """Each cause once, the most important first: then those that more objects suffer from, then as they were found."""
    everything = [_short(each) for each in found]
    causes = _together(_once([each for each in everything if not each.late] or everything))
    # What waits for its turn to be replaced explains least of all that is on its way.
    return tuple(sorted(causes, key=lambda each: (each.weight, each.deepest.says == REPLACED, -_reach(each))))


def _short(cause: Cause) -> Cause:
    last = len(cause.steps) - 1
    kept = tuple(each for at, each in enumerate(cause.steps) if each.kind != _BETWEEN or at in (0, last))
    return replace(cause, steps=kept)


def _once(found: Sequence[Cause]) -> list[Cause]:
    """The same cause by the shortest way, with what else it holds up."""
    ways: defaultdict[tuple[str, str], list[Cause]] = defaultdict(list)
    for each in found:
        ways[each.deepest.uid or each.deepest.subject, each.headline].append(each)
    kept = []
    for same in ways.values():
        best = min(same, key=lambda each: len(each.steps))
        on_the_way = {each.subject for each in best.steps}
        also = dict.fromkeys(
            each.steps[1].subject for each in same if len(each.steps) > 1 and each.steps[1].subject not in on_the_way
        )
        kept.append(replace(best, also=tuple(also)[:ALSO]))
    return kept


def _together(found: Sequence[Cause]) -> list[Cause]:
    alike: defaultdict[tuple[object, ...], list[Cause]] = defaultdict(list)
    for each in found:
        alike[_likeness(each)].append(each)
    return [each[0] if len(each) == 1 else _one(each) for each in alike.values()]


def _likeness(cause: Cause) -> tuple[object, ...]:
    names = [re.escape(each.name) for each in cause.steps[1:]] or [re.escape(cause.deepest.name)]
    own = re.compile(rf"(?<![\w-])(?:{'|'.join(names)})(?![\w-])")
    first = cause.steps[0]

    def bare(text: str) -> str:
        return own.sub("", _OWN.sub("", text))

    kinds = tuple(each.kind for each in cause.steps)
    group = cause.steps[1].subject if len(cause.steps) > 3 else ""
    # What is on its way says where each one goes; that all of them are under way is the news.
    told = "" if cause.weight is Weight.WORKING else bare(cause.headline)
    return (cause.weight, first.uid, kinds, group, told, bare(cause.deepest.says))


def _one(alike: Sequence[Cause]) -> Cause:
    first = alike[0]
    steps = tuple(_step([each.steps[at] for each in alike]) for at in range(len(first.steps)))
    deepest, name = steps[-1], first.deepest.name
    headline = first.headline.replace(f"{first.deepest.kind} {name}", deepest.subject, 1)
    if deepest.says == REPLACED:
        headline = f"{deepest.sentence}: {first.headline.partition(': ')[2]}"
    elif first.weight is Weight.WORKING:
        headline = f"{deepest.subject} are on their way; {name}: {headline.partition(': ')[2] or headline}"
    also = tuple(dict.fromkeys(title for each in alike for title in each.also))[:ALSO]
    return replace(first, steps=steps, headline=headline, also=also)


def _step(same: Sequence[Step]) -> Step:
    first = same[0]
    names = tuple(sorted({each.name for each in same}))
    if len(names) == 1:
        return first
    since = min((each.since for each in same if each.since is not None), default=None)
    return replace(first, names=names, since=since, says=first.says.replace(f" {first.name} ", " of the same name "))


def _reach(cause: Cause) -> int:
    return max(1, len(cause.deepest.names)) + len(cause.also)
