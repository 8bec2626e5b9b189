"""Which etcd member is on a machine: kubeadm names it as the Node."""

from __future__ import annotations

from nagaya.api.cluster.machine import Machine
from nagaya.controlplane.kubeadm.control_plane import ControlPlane, node_of


def member_of(plane: ControlPlane, machine: Machine) -> str:
    """The name of the member on a machine, also of one that does not say which Node it is. Empty if nobody knows."""
    if name := node_of(machine):
        return name
    host = plane.seen.hosts.get(machine.metadata.name)
    wanted = machine.spec.provider_id or ("" if host is None else host.provider_id)
    if not wanted or plane.seen.tenant is None:
        return ""
    found = [name for name, node in plane.seen.tenant.nodes.items() if node.spec.provider_id == wanted]
    return found[0] if len(found) == 1 else ""
