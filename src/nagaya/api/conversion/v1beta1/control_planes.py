"""KubeadmControlPlane and its template."""

from __future__ import annotations

from typing import Final

from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.v1beta1.kubeadm import kubeadm_config_spec
from nagaya.api.conversion.v1beta1.machines import ROLLING_UPDATE, deletion_timeouts
from nagaya.api.conversion.v1beta1.references import contract_reference

_MACHINE_FIELDS: Final = ("infrastructureRef", "readinessGates", "taints")


def kubeadm_control_plane(draft: Draft) -> None:
    """A KubeadmControlPlane."""
    spec = draft.at("spec")
    if spec is not None:
        _control_plane_spec(spec)


def kubeadm_control_plane_template(draft: Draft) -> None:
    """A KubeadmControlPlaneTemplate."""
    spec = draft.at("spec", "template", "spec")
    if spec is not None:
        _control_plane_spec(spec)


def _control_plane_spec(spec: Draft) -> None:
    machines = spec.at("machineTemplate")
    if machines is not None:
        contract_reference(machines, "infrastructureRef")
        for name in _MACHINE_FIELDS:
            machines.move(name, "spec", name)
        deletion_timeouts(machines, "spec", "deletion")
    config = spec.at("kubeadmConfigSpec")
    if config is not None:
        kubeadm_config_spec(config)
    spec.move("rolloutBefore", "rollout", "before")
    spec.move("rolloutAfter", "rollout", "after")
    strategy = spec.take_map("rolloutStrategy")
    if strategy is not None:
        strategy.put(strategy.content.get("type") or ROLLING_UPDATE, "type")
        spec.put(strategy.content, "rollout", "strategy")
    remediation = spec.take_map("remediationStrategy")
    if remediation is not None:
        # v1beta1 wrote 0s for "not set".
        spec.put(remediation.take_seconds("retryPeriod") or None, "remediation", "retryPeriodSeconds")
        remediation.move_seconds("minHealthyPeriod", "minHealthyPeriodSeconds")
        for name, value in remediation.content.items():
            spec.put(value, "remediation", name)
    spec.move("machineNamingStrategy", "machineNaming")
