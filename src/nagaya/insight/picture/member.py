"""One object of a Cluster as a reader sees it: what it is called, and what it says of itself.

Nothing that an object says can make reading it fail: a field of the wrong type reads as absent, and conditions that
cannot be read are told as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.api.meta import Condition, ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.kube.conditions.untyped import conditions_of

SIMULATED: Final = "Simulated"
_SIMULATED_PROVIDER: Final = "simulated://"


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """An object, with its conditions."""

    object: Untyped
    contract: str = ""
    conditions: tuple[Condition, ...] = ()
    unreadable: str = field(default="", kw_only=True)
    """Why its conditions cannot be read."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, owners and so on."""
        return self.object.metadata

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.object.kind

    @property
    def group(self) -> str:
        """The API group of its kind."""
        return self.object.api_version.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Its namespace; empty for what is in none."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """What tells it from others of the same name."""
        return self.metadata.uid

    @property
    def title(self) -> str:
        """How sentences name it."""
        return f"{self.kind} {self.name}"

    @property
    def simulated(self) -> bool:
        """Whether nothing of it runs anywhere."""
        return self.kind.startswith(SIMULATED) or self.text("spec", "providerID").startswith(_SIMULATED_PROVIDER)

    def condition(self, type: str) -> Condition | None:
        """One of its conditions."""
        return next((each for each in self.conditions if each.type == type), None)

    def holds(self, type: str) -> bool:
        """Whether a condition is True."""
        found = self.condition(type)
        return found is not None and found.status == "True"

    def holds_now(self, type: str) -> bool:
        """Whether a condition is True for the object as it is declared now: a condition of an earlier generation says
        nothing about a change that its controller has not seen yet."""
        found = self.condition(type)
        if found is None or found.status != "True":
            return False
        observed = found.observed_generation
        if observed is None:
            observed = self.number("status", "observedGeneration")
        return observed is None or observed >= self.metadata.generation

    def text(self, *path: str) -> str:
        """The text at a path; empty if there is none."""
        value = self.object.at(*path)
        return value if isinstance(value, str) else ""

    def number(self, *path: str) -> int | None:
        """The number at a path."""
        value = self.object.at(*path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def mapping(self, *path: str) -> Mapping[str, Any]:
        """The mapping at a path; empty if there is none."""
        value = self.object.at(*path)
        return value if isinstance(value, Mapping) else {}


def member(obj: Untyped, contract: str = "") -> Member:
    """An object as a member."""
    try:
        return Member(obj, contract, tuple(conditions_of(obj)))
    except ValueError as error:
        return Member(obj, contract, unreadable=str(error))
