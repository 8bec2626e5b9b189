"""A Cluster and its surroundings in tests of what is planned and told for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_pool import MachinePool
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.contract.provider import ControlPlane, InfrastructureCluster
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import Referenced
from nagaya.core.cluster.descendants import Descendants
from nagaya.core.cluster.seen import Seen
from nagaya.kube.remote import Probe
from support.builders import CLUSTER, CONTROL_PLANE, NOW, Draft, cluster, provider

INFRASTRUCTURE = Kind("infrastructure.cluster.x-k8s.io", "v1", "BoatCluster", "boatclusters", Untyped)
BOTH: dict[str, Any] = {
    "infrastructureRef": {"apiGroup": INFRASTRUCTURE.group, "kind": INFRASTRUCTURE.kind, "name": CLUSTER},
    "controlPlaneRef": {"apiGroup": CONTROL_PLANE.group, "kind": CONTROL_PLANE.kind, "name": CLUSTER},
}
ENDPOINT = {"host": "10.0.0.1", "port": 6443}


def new_cluster() -> Draft[Cluster]:
    """A Cluster that a user has just made, with both references."""
    return cluster().having(spec=BOTH, status=None)


def bare_cluster() -> Draft[Cluster]:
    """A Cluster that refers to nothing: its machines are made by hand."""
    return cluster().having(spec={"controlPlaneRef": None}, status=None)


def grown_cluster() -> Draft[Cluster]:
    """A Cluster with both references that has come up."""
    initialization = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
    return new_cluster().having(spec={"controlPlaneEndpoint": ENDPOINT}, status={"initialization": initialization})


def infrastructure() -> Draft[Untyped]:
    """The infrastructure of the cluster, of which nothing is there yet."""
    return provider(INFRASTRUCTURE, CLUSTER)


def control_plane() -> Draft[Untyped]:
    """The control plane of the cluster, of which nothing is there yet."""
    return provider(CONTROL_PLANE, CLUSTER)


def seen(
    subject: Draft[Cluster],
    infrastructure: Draft[Untyped] | str | None = None,
    control_plane: Draft[Untyped] | str | None = None,
    *,
    pools: Sequence[Draft[MachinePool]] = (),
    deployments: Sequence[Draft[MachineDeployment]] = (),
    sets: Sequence[Draft[MachineSet]] = (),
    control_plane_machines: Sequence[Draft[Machine]] = (),
    workers: Sequence[Draft[Machine]] = (),
    contract: str = "v1beta2",
    probe: Probe | None = None,
    connected: bool = True,
    has_kubeconfig: bool = False,
    now: datetime = NOW,
) -> Seen:
    """What is seen. Instead of a provider's object the problem with it can be given."""
    made = subject.made()
    return Seen(
        made,
        now,
        _infrastructure(made, infrastructure, contract),
        _control_plane(made, control_plane, contract),
        Descendants(
            pools=tuple(each.made() for each in pools),
            deployments=tuple(each.made() for each in deployments),
            sets=tuple(each.made() for each in sets),
            control_plane_machines=tuple(each.made() for each in control_plane_machines),
            workers=tuple(each.made() for each in workers),
        ),
        has_kubeconfig=has_kubeconfig,
        probe=Probe(now) if probe is None else probe,
        connected=connected,
    )


def _infrastructure(
    subject: Cluster, found: Draft[Untyped] | str | None, contract: str
) -> Referenced[InfrastructureCluster] | None:
    ref = subject.spec.infrastructure_ref
    if ref is None:
        return None
    if isinstance(found, str):
        return Referenced(ref, problem=found)
    return Referenced(ref, INFRASTRUCTURE, None if found is None else InfrastructureCluster(found.made(), contract))


def _control_plane(
    subject: Cluster, found: Draft[Untyped] | str | None, contract: str
) -> Referenced[ControlPlane] | None:
    ref = subject.spec.control_plane_ref
    if ref is None:
        return None
    if isinstance(found, str):
        return Referenced(ref, problem=found)
    return Referenced(ref, CONTROL_PLANE, None if found is None else ControlPlane(found.made(), contract))
