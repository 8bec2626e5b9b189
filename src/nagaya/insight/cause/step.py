"""One link of a chain: an object, and what is the matter with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.meta import Condition
from nagaya.insight.picture.member import Member

SHOWN: Final = 3
"""Names that a sentence has of several objects."""
_PLURAL: Final = (("is ", "are "), ("has ", "have "), ("waits ", "wait "), ("does ", "do "), ("names ", "name "),
                  ("says ", "say "))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """A sentence of which an object is the subject."""

    kind: str
    namespace: str
    name: str
    says: str
    """The rest of the sentence, without its end: "is not ready". After a colon if it begins with one."""
    since: datetime | None = None
    condition: Condition | None = None
    """What it is known from."""
    uid: str = ""
    names: tuple[str, ...] = ()
    """Of several objects that it stands for."""

    @property
    def subject(self) -> str:
        """The object or objects, as sentences name them."""
        if not self.names:
            return f"{self.kind} {self.name}"
        more = f", ... ({len(self.names) - SHOWN} more)" if len(self.names) > SHOWN else ""
        return f"{len(self.names)} {self.kind}s ({', '.join(self.names[:SHOWN])}{more})"

    @property
    def sentence(self) -> str:
        """All of it, without its end."""
        if self.says.startswith(":"):
            return f"{self.subject}{self.says}"
        said = self.says
        if self.names:
            said = next((many + said.removeprefix(one) for one, many in _PLURAL if said.startswith(one)), said)
        return f"{self.subject} {said}"


def step(member: Member, says: str, condition: Condition | None = None, since: datetime | None = None) -> Step:
    """A step of one object."""
    if since is None and condition is not None and condition.last_transition_time.year > 1:
        since = condition.last_transition_time
    return Step(member.kind, member.namespace, member.name, says, since, condition, member.uid)


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more."""
    more = f", ... ({len(names) - SHOWN} more)" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
