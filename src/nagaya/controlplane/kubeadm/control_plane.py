"""A control plane as its plans see it: what was seen, together with what it means.

Machines carry the conditions that the look has just led to, not those that were stored before it. Plans depend on
these alone, so they never act on a health that is out of date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.api.meta import Condition
from nagaya.clusters.machine_health import to_be_remediated, unhealthy
from nagaya.controlplane.kubeadm.failure_domains import domains_of
from nagaya.controlplane.kubeadm.machine_content import etcd_managed
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.tenant_seen import MemberSeen
from nagaya.controlplane.kubeadm.verdict import Verdict
from nagaya.kube.conditions import is_false

COMPONENT_CONDITIONS = (
    kubeadm.MACHINE_API_SERVER_POD_HEALTHY,
    kubeadm.MACHINE_CONTROLLER_MANAGER_POD_HEALTHY,
    kubeadm.MACHINE_SCHEDULER_POD_HEALTHY,
)


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A control plane that has been examined."""

    seen: Seen
    machines: tuple[Machine, ...] = ()
    """All machines, by name, with conditions as of now."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By machine name: whether each is as declared."""
    told: tuple[Condition, ...] = ()
    """EtcdClusterHealthy and ControlPlaneComponentsHealthy, as far as there is something new to tell."""
    members_match: bool = False
    """Whether each machine has an etcd member and each member a machine, as far as that can be expected."""
    problem: str = ""
    """Why nothing can be decided that depends on the tenant. Empty if the tenant was seen, or is not needed yet."""

    @property
    def kcp(self) -> KubeadmControlPlane:
        """The object itself."""
        return self.seen.kcp

    @property
    def replicas(self) -> int:
        """How many machines are declared."""
        return 1 if self.kcp.spec.replicas is None else self.kcp.spec.replicas

    @property
    def etcd_managed(self) -> bool:
        """Whether each machine has an etcd member."""
        return etcd_managed(self.kcp)

    @property
    def members(self) -> tuple[MemberSeen, ...] | None:
        """The members of etcd, None if they are not known."""
        return None if self.seen.tenant is None else self.seen.tenant.etcd.members

    @property
    def leader(self) -> MemberSeen | None:
        """The leader of etcd, None if it is not known."""
        tenant = self.seen.tenant
        return (
            None
            if tenant is None
            else next((each for each in self.members or () if each.id == tenant.etcd.leader), None)
        )

    @property
    def node_names(self) -> tuple[str, ...]:
        """The Nodes of machines that exist, which is what etcd is reached through."""
        tenant = self.seen.tenant
        return (
            () if tenant is None else tuple(name for each in self.machines if (name := node_of(each)) in tenant.nodes)
        )

    @property
    def nodes_problem(self) -> str:
        """Why Nodes are not known, which makes etcd unreachable."""
        tenant = self.seen.tenant
        return "the tenant cannot be reached" if tenant is None else tenant.nodes_problem

    @property
    def deleting(self) -> tuple[Machine, ...]:
        """Machines on their way out."""
        return tuple(each for each in self.machines if each.metadata.deleting)

    @property
    def up_to_date(self) -> tuple[Machine, ...]:
        """Machines as declared."""
        return tuple(each for each in self.machines if self._verdict(each).up_to_date)

    @property
    def to_be_rolled_out(self) -> tuple[Machine, ...]:
        """Machines that are not as declared, and are not going anyway."""
        return tuple(
            each for each in self.machines if not self._verdict(each).up_to_date and not each.metadata.deleting
        )

    @property
    def to_be_remediated(self) -> tuple[Machine, ...]:
        """Machines that a health check gave up, and that the control plane is to replace."""
        return tuple(each for each in self.machines if to_be_remediated(each))

    @property
    def healthy_but_without_node(self) -> tuple[Machine, ...]:
        """Machines that nobody gave up and that are still on their way to become Nodes."""
        return tuple(each for each in self.machines if not unhealthy(each) and not node_of(each))

    @property
    def failure_domains(self) -> tuple[str, ...]:
        """Where machines may be."""
        return domains_of(self.seen.cluster)

    def components_fail(self, machine: Machine) -> bool:
        """Whether anything of the control plane on a machine certainly does not work."""
        checked = (*COMPONENT_CONDITIONS, *self.etcd_conditions)
        return any(is_false(machine.status.conditions, each) for each in checked)

    @property
    def etcd_conditions(self) -> tuple[str, ...]:
        """The conditions of machines that tell of etcd."""
        return (kubeadm.MACHINE_ETCD_POD_HEALTHY, kubeadm.MACHINE_ETCD_MEMBER_HEALTHY) if self.etcd_managed else ()

    def _verdict(self, machine: Machine) -> Verdict:
        return self.verdicts.get(machine.metadata.name, Verdict())


def node_of(machine: Machine) -> str:
    """The name of a machine's Node, which kubeadm also gives to its etcd member. Empty before there is one."""
    return "" if machine.status.node_ref is None else machine.status.node_ref.name
