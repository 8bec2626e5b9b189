"""ClusterClass: references to templates got a name of their own, and groups of machines lost a level."""

from __future__ import annotations

from typing import Final

from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.v1beta1.health_checks import embedded_health_check
from nagaya.api.conversion.v1beta1.machines import deletion_timeouts, rollout_strategy
from nagaya.api.conversion.v1beta1.references import renew_version, take_template_reference

_CHANGED: Final = {
    "clusterName",
    "extraArgs",
    "kubeletExtraArgs",
    "kubernetesVersion",
    "machineNamingStrategy",
    "machineTemplate",
    "networking",
    "remediationStrategy",
    "rolloutAfter",
    "rolloutBefore",
    "rolloutStrategy",
    "timeout",
    "timeoutForControlPlane",
    "ttl",
    "useExperimentalRetryJoin",
}
"""Fields of kubeadm kinds that moved or changed their form."""


def cluster_class(draft: Draft) -> None:
    """A ClusterClass."""
    spec = draft.at("spec")
    if spec is None:
        return
    _template(spec, "infrastructure")
    spec.move("infrastructureNamingStrategy", "infrastructure", "naming")
    _control_plane(spec)
    workers = spec.at("workers")
    if workers is not None:
        for deployment in workers.each("machineDeployments"):
            _group(deployment)
            embedded_health_check(deployment)
            rollout_strategy(deployment, "healthCheck", "remediation")
        for pool in workers.each("machinePools"):
            _group(pool)
    for variable in spec.each("variables"):
        variable.move("metadata", "deprecatedV1Beta1Metadata")
    for patch in spec.each("patches"):
        for definition in patch.each("definitions"):
            _patch(definition)
        external = patch.at("external")
        if external is not None:
            external.move("generateExtension", "generatePatchesExtension")
            external.move("validateExtension", "validateTopologyExtension")


def _patch(definition: Draft) -> None:
    """A patch of a kubeadm template has to name v1beta2; whether what it writes fits, only people can tell."""
    selector = definition.at("selector")
    if selector is None or not renew_version(selector):
        return
    for change in definition.each("jsonPatches"):
        path = str(change.content.get("path"))
        if _CHANGED & set(path.split("/")):
            change.report("path", f"{path} is not the same in v1beta2: change path and value by hand.", loss=True)
        else:
            change.report("path", f"left as it is: check that {path} and its value fit v1beta2.", loss=False)


def _control_plane(spec: Draft) -> None:
    control_plane = spec.at("controlPlane")
    if control_plane is None:
        return
    control_plane.put(take_template_reference(control_plane, "ref"), "templateRef")
    _template(control_plane, "machineInfrastructure")
    control_plane.move("namingStrategy", "naming")
    embedded_health_check(control_plane)
    deletion_timeouts(control_plane, "deletion")


def _group(group: Draft) -> None:
    template = group.take_map("template")
    if template is not None:
        for part in ("bootstrap", "infrastructure"):
            _template(template, part)
        for name, value in template.content.items():
            group.put(value, name)
    group.move("namingStrategy", "naming")
    deletion_timeouts(group, "deletion")


def _template(draft: Draft, name: str) -> None:
    holder = draft.at(name)
    if holder is not None:
        holder.put(take_template_reference(holder, "ref"), "templateRef")
