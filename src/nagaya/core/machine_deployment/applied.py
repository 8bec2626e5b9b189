"""Whether a MachineSet still has to be told what it shall be.

Applying removes what was applied before and is no longer wanted, such as a label that is gone from the template. If a
set has more than is wanted, only the server knows whether that is such a remainder or somebody else's. So it is asked
by applying, once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.kube.patches import same

_LISTS_OF_MANY: Final = ("finalizers", "ownerReferences")
"""Lists that others add to."""


class _Told(NamedTuple):
    content: Mapping[str, Any]
    version: str
    """The resource version of the answer."""


class Applied:
    """What was applied to the sets of one deployment since the process started."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    def settled(self, present: MachineSet, content: Mapping[str, Any]) -> bool:
        """Whether applying this would change nothing."""
        told = self._told.get(present.metadata.uid)
        if told is not None and not same(told.content, content):
            told = None
        before = MACHINE_SETS.content(present)
        if not _includes(before, content):
            # What the server made of the very same content is not going to change by sending it again.
            return told is not None and told.version == present.metadata.resource_version
        return told is not None or not _exceeds(before, content)

    def tell(self, answer: MachineSet, content: Mapping[str, Any]) -> None:
        """Remember what was applied, and what came of it."""
        self._told[answer.metadata.uid] = _Told(content, answer.metadata.resource_version)

    def keep(self, uids: Collection[str]) -> None:
        """Forget all sets but these."""
        for uid in self._told.keys() - set(uids):
            del self._told[uid]


def _includes(present: Any, wanted: Any, name: str = "") -> bool:
    """Whether everything is there that is wanted."""
    if isinstance(wanted, Mapping):
        return isinstance(present, Mapping) and all(
            each in present and _includes(present[each], value, each) for each, value in wanted.items()
        )
    if name in _LISTS_OF_MANY:
        return all(any(same(each, value) for each in present) for value in wanted)
    return same(present, wanted)


def _exceeds(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether there is more than is wanted where a deployment writes."""
    before, after = present["metadata"], wanted["metadata"]
    return _has_more(present["spec"], wanted["spec"]) or any(
        _has_more(before.get(name, {}), after.get(name, {})) for name in ("labels", "annotations")
    )


def _has_more(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for name, value in present.items():
        if name not in wanted:
            return True
        if isinstance(value, Mapping) and _has_more(value, wanted[name]):
            return True
    return False
