"""What is left of things that are gone, counted; `nagaya gc` has the list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.clusters.leftovers import Leftover, Untouched
from nagaya.insight.checkup.finding import Finding, Subject

SUBJECT: Final = Subject("Leftovers")
CHECK: Final = "orphans"
LIST: Final = "nagaya gc --dry-run"


def findings(going: list[Leftover], staying: list[Untouched], unseen: Iterable[str]) -> Iterator[Finding]:
    """What was found."""
    if going:
        more = f" and {len(going) - 1} more" if len(going) > 1 else ""
        yield SUBJECT.warning(CHECK, f"{going[0].what}{more} belong to nothing any more, and are provably ours.", LIST)
    if staying:
        more = f" and {len(staying) - 1} more" if len(staying) > 1 else ""
        yield SUBJECT.warning(CHECK, f"{staying[0].what}{more} might be left over: {staying[0].why}", LIST)
    hidden = list(unseen)
    if hidden:
        yield SUBJECT.unchecked(CHECK, f"Not everything could be looked at: {hidden[0]}", LIST)
    if not going and not staying and not hidden:
        yield SUBJECT.ok(CHECK, "None.")
