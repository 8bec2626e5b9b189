"""The second round of mutating admission.

When a webhook or policy changes an object, those that had their say before it have not seen the change. So all plugins
run once more, and of webhooks and policies those that asked for it (`reinvocationPolicy: IfNeeded`) and after whose
turn something changed. There is never a third round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from nagaya.apiserver.meta.status import JsonObject


@dataclass(slots=True)
class Memory:
    """What one plugin remembers from the first round."""

    _last: bytes = b""
    _invoked: set[str] = field(default_factory=set)
    _due: set[str] = field(default_factory=set)

    def begin(self, obj: JsonObject | None, *, again: bool) -> None:
        """Start a round: what other plugins changed since the last one is a change too."""
        if again and _shown(obj) != self._last:
            self.changed()

    def end(self, obj: JsonObject | None) -> None:
        """Finish a round."""
        self._last = _shown(obj) if self._invoked else b""

    def invoked(self, who: str) -> None:
        """Someone who wants to be asked again after later changes was asked."""
        self._invoked.add(who)

    def changed(self) -> None:
        """The object is no longer what those asked so far have seen."""
        self._due |= self._invoked
        self._invoked = set()

    def is_due(self, who: str) -> bool:
        """Whether someone has to be asked in the second round."""
        return who in self._due


@dataclass(slots=True)
class Reinvocation:
    """The rounds of one write."""

    wanted: bool = False
    again: bool = False  # this is the second round
    webhooks: Memory = field(default_factory=Memory)
    policies: Memory = field(default_factory=Memory)


def _shown(obj: JsonObject | None) -> bytes:
    return b"" if obj is None else orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
