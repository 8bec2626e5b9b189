"""What custom resources need of a rule language, without knowing the language.

The schemas of custom resources carry rules (`x-kubernetes-validations`). Which rules run, on which values, against
which old values, and what becomes of a failure is decided in this room; how a rule is compiled and evaluated is
somebody else's business, handed in as a `RuleCompiler`. A server without one still works: it refuses definitions that
have rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nagaya.apiserver.meta.field_errors import Cause
from nagaya.apiserver.meta.status import JsonObject


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """Why a rule cannot be used, found when a definition is written.

    `index` is the rule's place in the list, `member` the part that is wrong: `rule` or `messageExpression`. An
    internal problem is not the rule's but its place's: no rule can be compiled there.
    """

    index: int
    member: str
    detail: str
    cause: Cause = Cause.INVALID


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What a rule and its message expression cost at most for one value, as far as the schema limits its size."""

    rule: int = 0
    message: int = 0


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that did not hold for a value, or could not be evaluated.

    `cause` follows from the rule's `reason`. `field_path` leads from the value to the field the rule blames. With
    `broken` the evaluation itself failed and `message` says how. With `fatal` no further rule may be evaluated for
    this object.
    """

    message: str
    cause: Cause = Cause.INVALID
    field_path: str = ""
    transition: bool = False
    broken: bool = False
    fatal: bool = False


class Rules(Protocol):
    """The compiled rules of one schema node."""

    @property
    def problems(self) -> Sequence[RuleProblem]:
        """Why some of the rules do not compile; they are never evaluated."""
        ...

    @property
    def transitions(self) -> Sequence[bool]:
        """For each rule, whether it mentions `oldSelf`."""
        ...

    @property
    def most_values(self) -> int:
        """How many values of this sort fit into one request."""
        ...

    def costs(self) -> Sequence[RuleCost]:
        """What each rule can cost; nothing for those that do not compile."""
        ...

    def check(self, value: Any, old: Any, budget: Budget) -> Sequence[RuleFailure]:
        """The rules that do not hold, in order.

        `old` is MISSING when there is nothing to compare with: rules that mention `oldSelf` are then left out, unless
        they take it as an optional. What evaluation costs is taken off the budget.
        """
        ...


class RuleCompiler(Protocol):
    """Makes the rules of a schema node executable."""

    def __call__(self, schema: JsonObject, *, resource_root: bool) -> Rules:
        """Compile the `x-kubernetes-validations` of this node.

        With `resource_root` the node is a whole object: kind, apiVersion and the names in metadata can be used even
        though the schema does not mention them.
        """
        ...


class Budget:
    """How much evaluation one request may still cost, in the cost units of the rule language."""

    __slots__ = ("left",)

    # The real server's limit for all rules of an object together, about a second of its evaluation.
    LIMIT = 10_000_000

    def __init__(self, left: int = LIMIT) -> None:
        self.left = left


NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
