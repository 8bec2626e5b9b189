"""Machine, MachineSet, MachineDeployment, MachinePool: what they share, and what each adds to it."""

from __future__ import annotations

from typing import Final

from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.v1beta1.references import contract_reference

ROLLING_UPDATE: Final = "RollingUpdate"


def machine(draft: Draft) -> None:
    """A Machine."""
    spec = draft.at("spec")
    if spec is not None:
        machine_spec(spec)


def machine_set(draft: Draft) -> None:
    """A MachineSet."""
    spec = draft.at("spec")
    if spec is None:
        return
    _template(spec)
    spec.move("deletePolicy", "deletion", "order")
    spec.move("machineNamingStrategy", "machineNaming")


def machine_deployment(draft: Draft) -> None:
    """A MachineDeployment."""
    spec = draft.at("spec")
    if spec is None:
        return
    _template(spec)
    rollout_strategy(spec, "remediation")
    spec.move("rolloutAfter", "rollout", "after")
    spec.move("machineNamingStrategy", "machineNaming")
    unused_deployment_fields(spec)


def machine_pool(draft: Draft) -> None:
    """A MachinePool."""
    spec = draft.at("spec")
    if spec is not None:
        _template(spec)


def machine_spec(spec: Draft) -> None:
    """What a machine looks like, wherever it is written."""
    contract_reference(spec, "infrastructureRef")
    bootstrap = spec.at("bootstrap")
    if bootstrap is not None:
        contract_reference(bootstrap, "configRef")
    deletion_timeouts(spec, "deletion")


def deletion_timeouts(draft: Draft, *target: str) -> None:
    """The three time-outs of a machine's deletion."""
    for name in ("nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"):
        draft.move_seconds(name, *target, f"{name}Seconds")


def rollout_strategy(draft: Draft, *remediation: str) -> None:
    """`strategy` falls into three parts: how to roll out, which machines go first, how many are remediated at once."""
    strategy = draft.take_map("strategy")
    if strategy is None:
        return
    kind = strategy.take("type")
    rolling = strategy.take_map("rollingUpdate")
    if rolling is not None:
        draft.put(rolling.take("deletePolicy"), "deletion", "order")
        if rolling.content:
            draft.put(rolling.content, "rollout", "strategy", "rollingUpdate")
    if kind or rolling is not None:
        # v1beta1 filled in the type; v1beta2 demands it.
        draft.put(kind or ROLLING_UPDATE, "rollout", "strategy", "type")
    limits = strategy.take_map("remediation")
    if limits is not None:
        draft.put(limits.take("maxInFlight"), *remediation, "maxInFlight")
        limits.drop_rest()
    strategy.drop_rest()


def unused_deployment_fields(spec: Draft) -> None:
    """Fields of MachineDeployments that v1beta2 dropped."""
    spec.drop(
        "revisionHistoryLimit",
        "not carried over: v1beta2 has no such limit. Keep your manifests in version control to go back.",
    )
    spec.drop("progressDeadlineSeconds", "not carried over: it never had an effect.", loss=False)


def _template(spec: Draft) -> None:
    template = spec.at("template", "spec")
    if template is not None:
        machine_spec(template)
    spec.move("minReadySeconds", "template", "spec", "minReadySeconds")
