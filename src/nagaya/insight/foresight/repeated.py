"""Objects that the manifests give more than once: `kubectl apply` takes them one after the other, so the last one wins.

That is hardly ever meant, and nothing says so afterwards. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.insight.foresight.change import Verb
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.rehearsal import Manifest, Rehearsed

NAMED: Final = 3
_REMEDY: Final = "Take out all but one, or give them names of their own."


def last_ones(manifests: Sequence[Manifest], rehearsed: Sequence[Rehearsed]) -> tuple[list[Rehearsed], list[Doubt]]:
    """What counts in the end, and which objects are given more than once: those of the same files at once. What is
    refused is told although another one comes after it. `rehearsed` are the manifests, in their order."""
    given: dict[tuple[str, str, str, str], list[int]] = {}
    for number, (manifest, each) in enumerate(zip(manifests, rehearsed, strict=True)):
        if manifest.name:
            key = (manifest.api_version.rpartition("/")[0], manifest.kind, each.change.namespace, manifest.name)
            given.setdefault(key, []).append(number)
    repeated = [numbers for numbers in given.values() if len(numbers) > 1]
    earlier = {number for numbers in repeated for number in numbers[:-1]}
    counting = [
        each for number, each in enumerate(rehearsed) if number not in earlier or each.change.verb is Verb.REFUSE
    ]
    alike: dict[tuple[str, ...], list[list[int]]] = {}
    for numbers in repeated:
        alike.setdefault(tuple(manifests[number].source for number in numbers), []).append(numbers)
    doubts = [
        _doubt([rehearsed[numbers[-1]].change.title for numbers in same], [manifests[number] for number in same[0]])
        for same in alike.values()
    ]
    return counting, doubts


def _doubt(titles: Sequence[str], first: Sequence[Manifest]) -> Doubt:
    """Of objects that the same files give; where they are is told of the first."""
    times = "twice" if len(first) == 2 else f"{len(first)} times"
    *some, last = [each.place for each in first]
    more = f" (as are {_listed(titles[1:])})" if titles[1:] else ""
    what = (
        f"{titles[0]} is given {times}: by {', '.join(some)} and {last}{more}. kubectl apply takes them in this order, "
        "so the last one wins, and only that is foretold here."
    )
    return Doubt(Severity.WARNING, what, _REMEDY)


def _listed(titles: Sequence[str]) -> str:
    rest = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return f"{', '.join(titles[:NAMED])}{rest}"
