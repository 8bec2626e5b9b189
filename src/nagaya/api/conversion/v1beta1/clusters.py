"""Cluster, with its topology."""

from __future__ import annotations

from typing import Final

from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.v1beta1.health_checks import embedded_health_check
from nagaya.api.conversion.v1beta1.machines import deletion_timeouts, rollout_strategy
from nagaya.api.conversion.v1beta1.references import contract_reference

_DEFINITION_FROM: Final = "not carried over: a variable has one value for all definitions of its name."


def cluster(draft: Draft) -> None:
    """A Cluster."""
    spec = draft.at("spec")
    if spec is None:
        return
    contract_reference(spec, "infrastructureRef")
    contract_reference(spec, "controlPlaneRef")
    topology = spec.at("topology")
    if topology is not None:
        _topology(topology)


def _topology(topology: Draft) -> None:
    topology.move("class", "classRef", "name")
    topology.move("classNamespace", "classRef", "namespace")
    topology.drop("rolloutAfter", "not carried over: it had no effect.", loss=False)
    _variables(topology, "variables")
    control_plane = topology.at("controlPlane")
    if control_plane is not None:
        deletion_timeouts(control_plane, "deletion")
        embedded_health_check(control_plane)
        _overrides(control_plane)
    workers = topology.at("workers")
    if workers is None:
        return
    for deployment in workers.each("machineDeployments"):
        embedded_health_check(deployment)
        rollout_strategy(deployment, "healthCheck", "remediation")
        deletion_timeouts(deployment, "deletion")
        _overrides(deployment)
    for pool in workers.each("machinePools"):
        deletion_timeouts(pool, "deletion")
        _overrides(pool)


def _overrides(draft: Draft) -> None:
    variables = draft.at("variables")
    if variables is not None:
        _variables(variables, "overrides")


def _variables(draft: Draft, name: str) -> None:
    for variable in draft.each(name):
        variable.drop("definitionFrom", _DEFINITION_FROM, loss=bool(variable.content.get("definitionFrom")))
