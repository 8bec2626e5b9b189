"""What is different in a tree from the one before: a line for each change, for whoever reads a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nagaya.insight.picture.message import one_line
from nagaya.insight.tree.branch import Branch, Counts

Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of one object."""

    kind: str
    namespace: str
    name: str
    what: str
    bad: bool = False

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"kind": self.kind, "namespace": self.namespace, "name": self.name, "what": self.what}


def changes(before: Branch | None, after: Branch) -> list[Changed]:
    """From one tree to the next, in the order of the tree; without one before, everything that is there."""
    old = {} if before is None else dict(_flat(before))
    new = dict(_flat(after))
    found = []
    for place, branch in new.items():
        was = old.get(place)
        said = _said(branch)
        if was is None:
            found.append(Changed(*place, f"appeared{f': {said}' if said else ''}", branch.bad))
            continue
        if branch.deleting is not None and was.deleting is None:
            found.append(Changed(*place, "is being deleted", bad=False))
        if said and said != _said(was):
            found.append(Changed(*place, said, branch.bad))
        elif _counted(branch.counts) != _counted(was.counts):
            found.append(Changed(*place, _counted(branch.counts), branch.bad))
    found += [Changed(*place, "is gone") for place in old if place not in new]
    return found


def _flat(branch: Branch) -> Iterator[tuple[Place, Branch]]:
    if branch.kind and not branch.members:
        yield (branch.kind, branch.namespace, branch.name), branch
    for child in branch.children:
        yield from _flat(child)


def _said(branch: Branch) -> str:
    if branch.state is None:
        return ""
    state = branch.state
    reason = f" ({state.reason})" if state.reason and state.reason != state.type else ""
    message = one_line(state.message)
    return f"{state.type} is {state.status}{reason}{f': {message}' if message else ''}"


def _counted(counts: Counts) -> str:
    if counts.desired is None:
        return ""
    parts = (("ready", counts.ready), ("available", counts.available), ("up to date", counts.up_to_date))
    told = [f"{number} {name}" for name, number in parts if number is not None]
    return f"{counts.replicas or 0} of {counts.desired} machines{': ' if told else ''}{', '.join(told)}"
