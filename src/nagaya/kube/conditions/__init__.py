"""Conditions: what an object says of its state, for people and for programs.

Pure functions over tuples. `mirror`, `summary` and `aggregate` compute a condition as Cluster API does, to the letter;
`set_condition` puts it among the others.
"""

from nagaya.kube.conditions.aggregate import aggregate
from nagaya.kube.conditions.condition import (
    UNSET,
    Conditions,
    condition,
    get,
    is_false,
    is_true,
    is_unknown,
    remove_condition,
    set_condition,
)
from nagaya.kube.conditions.merge import DefaultMerge, Merged, MergeStrategy, Operation, reasons, weigh
from nagaya.kube.conditions.mirror import NOT_YET_REPORTED, mirror
from nagaya.kube.conditions.source import Reported, Source
from nagaya.kube.conditions.summary import summary
from nagaya.kube.conditions.untyped import conditions_of
from nagaya.kube.conditions.weight import Weigh, Weight

__all__ = [
    "NOT_YET_REPORTED",
    "UNSET",
    "Conditions",
    "DefaultMerge",
    "MergeStrategy",
    "Merged",
    "Operation",
    "Reported",
    "Source",
    "Weigh",
    "Weight",
    "aggregate",
    "condition",
    "conditions_of",
    "get",
    "is_false",
    "is_true",
    "is_unknown",
    "mirror",
    "reasons",
    "remove_condition",
    "set_condition",
    "summary",
    "weigh",
]
