"""A machine and its surroundings, as the machine controller sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.contract.provider import BootstrapConfig, InfrastructureMachine
from nagaya.clusters.external import Referenced
from nagaya.clusters.node import NODES, Node
from nagaya.core.machine.seen import Seen, Settings
from nagaya.kube.remote import Probe
from support import builders
from support.builders import BOOTSTRAP, INFRASTRUCTURE, NOW, Draft, cluster, provider

ANSWERED = Probe(NOW)
OWNED = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "a", "uid": "uid-a"}
GOOD = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}


def owned(draft: Draft[Any]) -> Draft[Any]:
    """An object of a provider that Machine a has taken over."""
    return draft.having(metadata={"ownerReferences": [{**OWNED, "controller": True, "blockOwnerDeletion": True}]})


def host(**parts: Any) -> Draft[Any]:
    """An infrastructure machine that Machine a has taken over."""
    return owned(provider(INFRASTRUCTURE)).having(**parts)


def provisioned_host() -> Draft[Any]:
    return host(spec={"providerID": "boat:///a"}, status={"initialization": {"provisioned": True}})


def config(**parts: Any) -> Draft[Any]:
    """A bootstrap object that Machine a has taken over."""
    return owned(provider(BOOTSTRAP)).having(**parts)


def ready_config() -> Draft[Any]:
    return config(status={"initialization": {"dataSecretCreated": True}, "dataSecretName": "a-data"})


def node(
    name: str = "node-a",
    conditions: Mapping[str, str] = GOOD,
    messages: Mapping[str, str] | None = None,
    provider_id: str = "boat:///a",
    **metadata: Any,
) -> Node:
    """A Node of a tenant."""
    told = [
        {"type": type, "status": status, "message": (messages or {}).get(type, "")}
        for type, status in conditions.items()
    ]
    return NODES.convert(
        {
            "metadata": {"name": name, "resourceVersion": "7", **metadata},
            "spec": {"providerID": provider_id},
            "status": {"conditions": told, "nodeInfo": {"kubeletVersion": "v1.36.3"}},
        }
    )


def seen(
    machine: Draft[Machine] | None = None,
    *,
    host: Draft[Any] | str | None = "",
    config: Draft[Any] | str | None = "",
    cluster: Draft[Cluster] = cluster(),  # noqa: B008 - drafts are values
    nodes: tuple[Node, ...] | None = (),
    probe: Probe = ANSWERED,
    machine_set: MachineSet | None = None,
    deployment: MachineDeployment | None = None,
    settings: Settings | None = None,
    contract: str = "v1beta2",
    now: Any = NOW,
) -> Seen:
    """What is seen of a machine. A text for one of the providers' objects says why it cannot be used, None that it is
    missing."""
    made = (machine or builders.machine()).made()
    if host == "":
        host = _HOST
    if config == "":
        config = _CONFIG
    reference, other = made.spec.infrastructure_ref, made.spec.bootstrap.config_ref
    infrastructure: Referenced[InfrastructureMachine] = (
        Referenced(reference, INFRASTRUCTURE, problem=host)
        if isinstance(host, str)
        else Referenced(
            reference, INFRASTRUCTURE, None if host is None else InfrastructureMachine(host.made(), contract)
        )
    )
    bootstrap: Referenced[BootstrapConfig] | None = None
    if other is not None:
        bootstrap = (
            Referenced(other, BOOTSTRAP, problem=config)
            if isinstance(config, str)
            else Referenced(other, BOOTSTRAP, None if config is None else BootstrapConfig(config.made(), contract))
        )
    return Seen(
        now=now,
        machine=made,
        cluster=cluster.made(),
        infrastructure=infrastructure,
        bootstrap=bootstrap,
        machine_set=machine_set,
        machine_deployment=deployment,
        probe=probe,
        nodes=nodes,
        settings=settings or Settings(),
    )


_HOST = host()
_CONFIG = config()
