"""All kinds that Nagaya defines, by the part of it that brings them: what `nagaya crds` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.api.addons import cluster_resource_set, cluster_resource_set_binding
from nagaya.api.bootstrap import kubeadm_config, kubeadm_config_template
from nagaya.api.cluster import (
    cluster,
    cluster_class,
    machine,
    machine_deployment,
    machine_drain_rule,
    machine_health_check,
    machine_pool,
    machine_set,
)
from nagaya.api.controlplane import (
    data_store,
    hosted_control_plane,
    hosted_control_plane_template,
    kubeadm_control_plane,
    kubeadm_control_plane_template,
)
from nagaya.api.definition import Definition
from nagaya.api.ipam import (
    global_in_cluster_ip_pool,
    in_cluster_ip_pool,
    ip_address,
    ip_address_claim,
    ip_address_reservation,
)
from nagaya.api.proxmox import (
    proxmox_cluster,
    proxmox_cluster_template,
    proxmox_connection,
    proxmox_machine,
    proxmox_machine_template,
    proxmox_virtual_machine,
)
from nagaya.api.runtime import extension_config
from nagaya.api.simulated import (
    simulated_cluster,
    simulated_cluster_template,
    simulated_machine,
    simulated_machine_template,
)

PARTS: Final[Mapping[str, tuple[Definition, ...]]] = {
    "core": (
        cluster.DEFINITION,
        cluster_class.DEFINITION,
        machine.DEFINITION,
        machine_set.DEFINITION,
        machine_deployment.DEFINITION,
        machine_health_check.DEFINITION,
        machine_drain_rule.DEFINITION,
        machine_pool.DEFINITION,
    ),
    "addons": (cluster_resource_set.DEFINITION, cluster_resource_set_binding.DEFINITION),
    "ipam": (
        ip_address.DEFINITION,
        ip_address_claim.DEFINITION,
        in_cluster_ip_pool.DEFINITION,
        global_in_cluster_ip_pool.DEFINITION,
        ip_address_reservation.DEFINITION,
    ),
    "runtime": (extension_config.DEFINITION,),
    "bootstrap-kubeadm": (kubeadm_config.DEFINITION, kubeadm_config_template.DEFINITION),
    "controlplane-kubeadm": (kubeadm_control_plane.DEFINITION, kubeadm_control_plane_template.DEFINITION),
    "controlplane-hosted": (
        hosted_control_plane.DEFINITION,
        hosted_control_plane_template.DEFINITION,
        data_store.DEFINITION,
    ),
    "infrastructure-proxmox": (
        proxmox_cluster.DEFINITION,
        proxmox_cluster_template.DEFINITION,
        proxmox_machine.DEFINITION,
        proxmox_machine_template.DEFINITION,
        proxmox_connection.DEFINITION,
        proxmox_virtual_machine.DEFINITION,
    ),
    "infrastructure-simulated": (
        simulated_cluster.DEFINITION,
        simulated_cluster_template.DEFINITION,
        simulated_machine.DEFINITION,
        simulated_machine_template.DEFINITION,
    ),
}
