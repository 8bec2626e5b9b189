"""The message of an aggregate: the three most telling messages, each with the objects that report it.

Many objects usually have few different things to say. Messages are picked in this order: those of control plane
machines, issues before unknown, those of more objects before those of fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nagaya.kube.conditions.bullets import after_colon
from nagaya.kube.conditions.source import Reported
from nagaya.kube.conditions.weight import Weigh, Weight

MESSAGES_SHOWN: Final = 3
OBJECTS_SHOWN: Final = 3
"""A control plane usually has three machines, and all of them shall be named."""

_OTHERS: Final[Mapping[Weight, str]] = {
    Weight.ISSUE: "with other issues",
    Weight.UNKNOWN: "with status unknown",
    Weight.INFO: "with additional info",
}


def aggregate_message(troubles: Sequence[Reported], info: Sequence[Reported], weigh: Weigh) -> str:
    """Lines `* Kind name, name: message`. Good news is told only when there is no trouble, and if it has a message."""
    told = troubles or [each for each in info if each.condition.message]
    names: dict[str, dict[str, list[str]]] = {}
    weights: dict[str, Weight] = {}
    first: set[str] = set()
    control_plane: set[str] = set()
    for each in told:
        source, message = each.source, each.condition.message
        names.setdefault(source.kind, {}).setdefault(message, []).append(source.name)
        weights[message] = min(weights.get(message, Weight.INFO), weigh(each.condition))
        if source.control_plane_machine:
            first.add(message)
            control_plane.add(source.name)

    lines: list[str] = []
    left = MESSAGES_SHOWN
    for kind in sorted(names):
        by_message = names[kind]

        def rank(message: str, by_message: Mapping[str, list[str]] = by_message) -> tuple[bool, Weight, int, str]:
            objects = by_message[message]
            return message not in first, weights[message], -len(objects), ",".join(objects)

        others: dict[Weight, int] = {}
        for message in sorted(by_message, key=rank):
            objects = by_message[message]
            if not left:
                others[weights[message]] = others.get(weights[message], 0) + len(objects)
                continue
            left -= 1
            lines.append(f"* {_named(kind, objects, control_plane)}:{after_colon(message)}")
        for weight in sorted(others):
            count = others[weight]
            lines.append(f"And {count} {kind if count == 1 else plural(kind)} {_OTHERS[weight]}")
    return "\n".join(lines)


def plural(kind: str) -> str:
    """The English plural of the name of a kind."""
    if kind.endswith("y") and kind[-2:-1] not in "aeiou":
        return f"{kind[:-1]}ies"
    if kind.endswith(("s", "x", "z", "ch", "sh")):
        return f"{kind}es"
    return f"{kind}s"


def _named(kind: str, objects: list[str], control_plane: set[str]) -> str:
    ordered = sorted(objects, key=lambda name: (name not in control_plane, name))
    shown = ", ".join(ordered[:OBJECTS_SHOWN])
    if len(ordered) == 1:
        return f"{kind} {shown}"
    rest = len(ordered) - OBJECTS_SHOWN
    return f"{plural(kind)} {shown}, ... ({rest} more)" if rest > 0 else f"{plural(kind)} {shown}"
