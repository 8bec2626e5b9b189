"""MachineDrainRules: what becomes of pods when the node of a machine is drained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.definition import Column, Definition, age
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc, rule

DRAIN: Final = "Drain"
SKIP: Final = "Skip"
WAIT_COMPLETED: Final = "WaitCompleted"

_UNIQUE: Final = "self.all(x, self.exists_one(y, x == y))"


class DrainRule(Model):
    """What becomes of a pod."""

    behavior: Annotated[
        str,
        doc(
            "Drain evicts the pods, in the given order. Skip leaves them: nobody waits for them. WaitCompleted does "
            "not evict them, but waits until they have finished.",
            enum=[DRAIN, SKIP, WAIT_COMPLETED],
        ),
    ]
    order: Annotated[
        int | None,
        doc(
            "When these pods are evicted: lower numbers first, the next only after all with a lower one are gone. "
            "Pods without a rule have 0. Only with Drain; 0 if left out."
        ),
    ] = None


class MachineDrainRuleMachineSelector(Model):
    """Machines, by their own labels and by those of their Cluster. Both must match."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    selector: Annotated[
        LabelSelector | None, doc("Machines with these labels. All machines of the Clusters if left out.")
    ] = None
    cluster_selector: Annotated[
        LabelSelector | None, doc("Machines of Clusters with these labels. Of all Clusters if left out.")
    ] = None


class MachineDrainRulePodSelector(Model):
    """Pods, by their own labels and by those of their Namespace. Both must match."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    selector: Annotated[
        LabelSelector | None, doc("Pods with these labels. All pods of the Namespaces if left out.")
    ] = None
    namespace_selector: Annotated[
        LabelSelector | None, doc("Pods in Namespaces with these labels. In all Namespaces if left out.")
    ] = None


class MachineDrainRuleSpec(Model):
    """Which pods, on which machines, and what becomes of them."""

    drain: Annotated[DrainRule, doc("What becomes of the pods when the node is drained.")]
    machines: Annotated[
        tuple[MachineDrainRuleMachineSelector, ...],
        doc(
            "Machines that the rule is for: those that any of the entries selects. All in the namespace if left out.",
            minItems=1,
            maxItems=32,
            list_type="atomic",
            rules=[rule(_UNIQUE, "must not name the same machines twice")],
        ),
    ] = ()
    pods: Annotated[
        tuple[MachineDrainRulePodSelector, ...],
        doc(
            "Pods that the rule is for: those that any of the entries selects. All pods if left out.",
            minItems=1,
            maxItems=32,
            list_type="atomic",
            rules=[rule(_UNIQUE, "must not name the same pods twice")],
        ),
    ] = ()


class MachineDrainRule(Resource):
    """What becomes of pods when the node of a machine is drained. If several select a pod, the first by name counts."""

    __schema__: ClassVar[Mapping[str, object]] = {"required": ["metadata", "spec"]}

    spec: Annotated[MachineDrainRuleSpec, doc("Which pods, on which machines, and what becomes of them.")]


MACHINE_DRAIN_RULES: Final = Kind(
    "cluster.x-k8s.io", "v1beta2", "MachineDrainRule", "machinedrainrules", MachineDrainRule
)

DEFINITION: Final = Definition(
    MACHINE_DRAIN_RULES,
    status=False,
    columns=(
        Column("Behavior", ".spec.drain.behavior", description="What becomes of the pods."),
        Column("Order", ".spec.drain.order", description="When they are evicted: lower numbers first."),
        age("rule"),
    ),
)
