"""An infrastructure provider whose machines are namespaces of this computer.

It fulfils Cluster API's contract for infrastructure, so the core and the bootstrap provider treat it like any other:
NetnsMachines become machines that boot exactly the Secret that their Machine names, and nothing tells them anything
else. What always holds: a machine that may exist has its finalizer, and when the object is gone, so is the machine.
Machines end with the process; one that starts anew does not find them again.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Self, TypeVar

import msgspec

from nagaya.api.bootstrap.annotations import KUBELET_NODE_IP, KUBELET_PROVIDER_ID
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.cluster.pause import why_paused
from nagaya.api.crd import render
from nagaya.api.definition import Definition, provider_labels
from nagaya.api.kind import Kind, Object, Resource
from nagaya.api.model import Model, doc
from nagaya.api.untyped import Untyped
from nagaya.clusters.owners import is_a
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.controller import Controller, Result, Watch
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Apply
from nagaya.kube.tenant_secrets import TENANT_SECRETS, VALUE
from nagaya.kube.transport import Transport
from nagaya.simulators.netns.host import NetnsHost
from nagaya.simulators.netns.machine import Machine as Box
from nagaya.world import World

GROUP: Final = "infrastructure.cluster.x-k8s.io"
VERSION: Final = "v1alpha1"
FINALIZER: Final = f"{GROUP}/netnsmachine"
MANAGER: Final = "netns"
_SERVED_WITHIN: Final = 120.0
KUBELET: Final[Mapping[str, str]] = {
    KUBELET_PROVIDER_ID: "netns://{{ ds.meta_data.instance_id }}",
    KUBELET_NODE_IP: "{{ ds.meta_data.local_ipv4 }}",
}
"""What NetnsClusters want kubelets to be told: annotations that whoever writes one gives it."""

T = TypeVar("T", bound=Object)


class Initialization(Model):
    """How far the object has come into being."""

    provisioned: Annotated[bool | None, doc("Whether it has been provided.")] = None


class NetnsClusterSpec(Model):
    """What the machines of a cluster share."""

    control_plane_endpoint: Annotated[Endpoint, doc("Where the API is, if the control plane does not say so.")] = (
        Endpoint()
    )


class NetnsClusterStatus(Model):
    """What is known of it."""

    initialization: Annotated[Initialization, doc("How far it has come into being.")] = Initialization()


class NetnsCluster(Resource):
    """A place for machines: nothing has to be made for it."""

    spec: Annotated[NetnsClusterSpec, doc("What the machines share.")] = NetnsClusterSpec()
    status: Annotated[NetnsClusterStatus, doc("What is known of it.")] = NetnsClusterStatus()


class NetnsMachineSpec(Model):
    """What a machine is to be."""

    provider_id: Annotated[str, doc("How the provider calls the machine. It is filled in.")] = msgspec.field(
        default="", name="providerID"
    )


class NetnsMachineStatus(Model):
    """What is known of a machine."""

    initialization: Annotated[Initialization, doc("How far it has come into being.")] = Initialization()
    addresses: Annotated[tuple[MachineAddress, ...], doc("Its addresses.", list_type="atomic")] = ()


class NetnsMachine(Resource):
    """A machine that is a namespace of this computer."""

    spec: Annotated[NetnsMachineSpec, doc("What the machine is to be.")] = NetnsMachineSpec()
    status: Annotated[NetnsMachineStatus, doc("What is known of the machine.")] = NetnsMachineStatus()


_CRDS: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
_LABELS: Final = provider_labels("infrastructure-netns", VERSION)
NETNS_CLUSTERS: Final = Kind(GROUP, VERSION, "NetnsCluster", "netnsclusters", NetnsCluster)
NETNS_MACHINES: Final = Kind(GROUP, VERSION, "NetnsMachine", "netnsmachines", NetnsMachine)
NETNS_DEFINITIONS: Final = (Definition(NETNS_CLUSTERS, labels=_LABELS), Definition(NETNS_MACHINES, labels=_LABELS))


class NetnsProvider:
    """The provider, on its own: it shares nothing with others but the management API."""

    def __init__(self, transport: Transport, world: World, host: NetnsHost) -> None:
        self.client = Client(transport, world=world)
        self.manager = Manager(self.client, world)
        api = Api(self.client, self.manager.cache, MANAGER)
        clusters, machines = (
            NetnsClusters(self.manager.cache, api),
            NetnsMachines(self.manager.cache, api, self.client, host),
        )
        self.manager.add(
            Controller("netnscluster", NETNS_CLUSTERS, clusters.reconcile, watches=[Watch(CLUSTERS, _of_cluster)])
        )
        self.manager.add(
            Controller(
                "netnsmachine",
                NETNS_MACHINES,
                machines.reconcile,
                watches=[Watch(MACHINES, _of_machine), Watch(CLUSTERS, machines.of_cluster)],
            )
        )

    async def __aenter__(self) -> Self:
        for definition in NETNS_DEFINITIONS:
            content = render(definition)
            await self.client.patch(_CRDS, "", content["metadata"]["name"], Apply(content, MANAGER, True))
        for definition in NETNS_DEFINITIONS:
            await self._served(definition.kind)
        await self.manager.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.manager.stop()
        await self.client.close()

    async def _served(self, kind: Kind[T]) -> None:
        """Wait until a kind that was just installed is served: a moment."""
        async with asyncio.timeout(_SERVED_WITHIN):
            while True:
                try:
                    await self.client.list(kind)
                    return
                except NotFound:
                    await asyncio.sleep(0.05)


class NetnsClusters:
    """What is done for NetnsClusters: they are ready as soon as they belong to a Cluster."""

    def __init__(self, cache: Cache, api: Api) -> None:
        self._cache = cache
        self._api = api

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one."""
        place = self._cache.get(NETNS_CLUSTERS, key)
        cluster = None if place is None else _owner(self._cache, place, CLUSTERS)
        if place is None or cluster is None or why_paused(cluster, place, NETNS_CLUSTERS.kind):
            return None
        told = NetnsClusterStatus(initialization=Initialization(provisioned=True))
        await self._api.status(NETNS_CLUSTERS, place, told, fields=["initialization.provisioned"])
        return None


class NetnsMachines:
    """What is done for NetnsMachines."""

    def __init__(self, cache: Cache, api: Api, client: Client, host: NetnsHost) -> None:
        self._cache = cache
        self._api = api
        self._client = client
        self._host = host
        self._boxes: dict[Key, tuple[str, Box]] = {}
        """The machine of each object, with the uid of that."""

    def of_cluster(self, change: Change[Cluster]) -> Iterable[Key]:
        """All machines of a Cluster."""
        name, namespace = change.object.metadata.name, change.object.metadata.namespace
        found = self._cache.list(NETNS_MACHINES, namespace)
        return [Key.of(each) for each in found if each.metadata.labels.get(CLUSTER_NAME) == name]

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one."""
        wish = self._cache.get(NETNS_MACHINES, key)
        known, box = self._boxes.get(key, ("", None))
        if box is not None and (wish is None or wish.metadata.uid != known):
            await self._destroy(key, box)  # the object went past its finalizer
        if wish is None:
            return None
        machine = _owner(self._cache, wish, MACHINES)
        name = wish.metadata.labels.get(CLUSTER_NAME, "")
        cluster = self._cache.get(CLUSTERS, Key(key.namespace, name))
        if why_paused(cluster, wish, NETNS_MACHINES.kind):
            return None
        if wish.metadata.deleting:
            if box is not None:
                await self._destroy(key, box)
            rest = tuple(each for each in wish.metadata.finalizers if each != FINALIZER)
            await self._api.metadata(NETNS_MACHINES, wish, finalizers=rest)
            return None
        secret = None if machine is None else machine.spec.bootstrap.data_secret_name
        if cluster is None or not cluster.status.initialization.infrastructure_provisioned or not secret:
            return None
        wish = await self._hold(wish)
        if key not in self._boxes:
            await self._create(key, wish, secret)
        await self._tell(wish, self._boxes[key][1])
        return None

    async def _hold(self, wish: NetnsMachine) -> NetnsMachine:
        """The machine begins to exist: finalizer and name in one patch."""
        if FINALIZER in wish.metadata.finalizers and wish.spec.provider_id:
            return wish
        finalizers = [*dict.fromkeys((*wish.metadata.finalizers, FINALIZER))]
        content = {"metadata": {"finalizers": finalizers}, "spec": {"providerID": f"netns://{wish.metadata.uid}"}}
        return await self._api.merge(NETNS_MACHINES, wish, content, locked=True)

    async def _create(self, key: Key, wish: NetnsMachine, secret: str) -> None:
        # Asked for, not looked up: boot data are not kept in the cache.
        found = await self._client.get(TENANT_SECRETS, key.namespace, secret)
        box = await self._host.create(
            key.name,
            user_data=base64.b64decode(found.data[VALUE]),
            meta_data={"instance-id": wish.metadata.uid},
        )
        self._boxes[key] = (wish.metadata.uid, box)

    async def _destroy(self, key: Key, box: Box) -> None:
        await box.destroy()
        del self._boxes[key]

    async def _tell(self, wish: NetnsMachine, box: Box) -> None:
        told = NetnsMachineStatus(
            initialization=Initialization(provisioned=True),
            addresses=(
                MachineAddress(type="InternalIP", address=str(box.address.ip)),
                MachineAddress(type="Hostname", address=box.name),
            ),
        )
        fields = ["initialization.provisioned", "addresses"]
        await self._api.status(NETNS_MACHINES, wish, told, fields=fields)


def _owner(cache: Cache, obj: Object, kind: Kind[T]) -> T | None:
    for reference in obj.metadata.owner_references:
        if is_a(reference, kind):
            return cache.get(kind, Key(obj.metadata.namespace, reference.name))
    return None


def _of_cluster(change: Change[Cluster]) -> Iterable[Key]:
    reference = change.object.spec.infrastructure_ref
    if reference is None or reference.kind != NETNS_CLUSTERS.kind:
        return ()
    return (Key(change.object.metadata.namespace, reference.name),)


def _of_machine(change: Change[Machine]) -> Iterable[Key]:
    reference = change.object.spec.infrastructure_ref
    return (Key(change.object.metadata.namespace, reference.name),) if reference.kind == NETNS_MACHINES.kind else ()
