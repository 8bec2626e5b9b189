"""Which kinds have admission, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.api.admission import (
    cluster,
    cluster_resource_set,
    cluster_resource_set_binding,
    data_store,
    extension_config,
    hosted_control_plane,
    hosted_control_plane_template,
    in_cluster_ip_pool,
    ip_address,
    ip_address_claim,
    ip_pool_neighbours,
    kubeadm_config,
    kubeadm_config_template,
    kubeadm_control_plane,
    kubeadm_control_plane_template,
    machine,
    machine_deployment,
    machine_drain_rule,
    machine_health_check,
    machine_pool,
    machine_set,
    proxmox_cluster,
    proxmox_cluster_template,
    proxmox_connection,
    proxmox_machine,
    proxmox_machine_template,
    proxmox_virtual_machine,
)
from nagaya.api.admission.content import Content, number, put
from nagaya.api.admission.field_error import FieldError
from nagaya.api.admission.proxmox_versions import of_both_versions

Look = Callable[[str], Sequence[Content]]
"""Lists the objects of a `plural.group`, as they are stored."""


def _unchanged(new: Content, _: Content | None) -> Content:
    return new


@dataclass(frozen=True, slots=True)
class Admission:
    """What is done with a new object before it is stored. The old one is None when it is created."""

    validate: Callable[[Content, Content | None], list[FieldError]]
    """What is wrong with it, after the schema found nothing."""

    default: Callable[[Content, Content | None], Content] = _unchanged
    """The object with what was left out. It may raise Refusal."""

    beside: Callable[[Content, Content | None, Look], list[FieldError]] | None = None
    """What is wrong with it beside other objects, if its spec is new or another. None if nothing can be."""

    keeps: Callable[[Content, Look], str] | None = None
    """Why it must not be deleted; an empty text if it may be. None if it always may."""

    needs: tuple[str, ...] = ()
    """What `beside` and `keeps` look at, by `plural.group`."""

    def scale(self, parent: Content, scale: Content) -> list[FieldError]:
        """What is wrong with the number that a Scale gives an object. Other faults that the object has anyway do not
        count: scaling it makes none of them worse."""
        replicas = number(scale, "spec", "replicas") or 0
        known = {(fault.field, fault.body) for fault in self.validate(parent, parent)}
        found = self.validate(put(parent, replicas, "spec", "replicas"), parent)
        return [fault for fault in found if fault.field == "spec.replicas" or (fault.field, fault.body) not in known]


_POOLS: Final = Admission(
    in_cluster_ip_pool.validate,
    beside=ip_pool_neighbours.beside,
    keeps=ip_pool_neighbours.keeps,
    needs=tuple(ip_pool_neighbours.TABLES),
)

ADMISSION: Final[Mapping[str, Admission]] = {
    "clusters.cluster.x-k8s.io": Admission(cluster.validate, cluster.default),
    "machines.cluster.x-k8s.io": Admission(machine.validate, machine.default),
    "machinesets.cluster.x-k8s.io": Admission(machine_set.validate, machine_set.default),
    "machinedeployments.cluster.x-k8s.io": Admission(machine_deployment.validate, machine_deployment.default),
    "machinehealthchecks.cluster.x-k8s.io": Admission(machine_health_check.validate, machine_health_check.default),
    "machinedrainrules.cluster.x-k8s.io": Admission(machine_drain_rule.validate),
    "machinepools.cluster.x-k8s.io": Admission(machine_pool.validate, machine_pool.default),
    "clusterresourcesets.addons.cluster.x-k8s.io": Admission(
        cluster_resource_set.validate, cluster_resource_set.default
    ),
    "clusterresourcesetbindings.addons.cluster.x-k8s.io": Admission(cluster_resource_set_binding.validate),
    "ipaddresses.ipam.cluster.x-k8s.io": Admission(ip_address.validate),
    "ipaddressclaims.ipam.cluster.x-k8s.io": Admission(ip_address_claim.validate),
    "inclusterippools.ipam.cluster.x-k8s.io": _POOLS,
    "globalinclusterippools.ipam.cluster.x-k8s.io": _POOLS,
    "extensionconfigs.runtime.cluster.x-k8s.io": Admission(extension_config.validate, extension_config.default),
    "kubeadmconfigs.bootstrap.cluster.x-k8s.io": Admission(kubeadm_config.validate),
    "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io": Admission(
        kubeadm_config_template.validate, kubeadm_config_template.default
    ),
    "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io": Admission(
        kubeadm_control_plane.validate, kubeadm_control_plane.default
    ),
    "kubeadmcontrolplanetemplates.controlplane.cluster.x-k8s.io": Admission(kubeadm_control_plane_template.validate),
    "hostedcontrolplanes.controlplane.cluster.x-k8s.io": Admission(
        hosted_control_plane.validate, hosted_control_plane.default
    ),
    "hostedcontrolplanetemplates.controlplane.cluster.x-k8s.io": Admission(hosted_control_plane_template.validate),
    "datastores.controlplane.cluster.x-k8s.io": Admission(data_store.validate),
    "proxmoxclusters.infrastructure.cluster.x-k8s.io": Admission(of_both_versions(proxmox_cluster.validate)),
    "proxmoxclustertemplates.infrastructure.cluster.x-k8s.io": Admission(
        of_both_versions(proxmox_cluster_template.validate)
    ),
    "proxmoxmachines.infrastructure.cluster.x-k8s.io": Admission(
        of_both_versions(proxmox_machine.validate), proxmox_machine.default
    ),
    "proxmoxmachinetemplates.infrastructure.cluster.x-k8s.io": Admission(
        of_both_versions(proxmox_machine_template.validate)
    ),
    "proxmoxconnections.infrastructure.cluster.x-k8s.io": Admission(proxmox_connection.validate),
    "proxmoxvirtualmachines.infrastructure.cluster.x-k8s.io": Admission(proxmox_virtual_machine.validate),
}
"""By `plural.group`."""
