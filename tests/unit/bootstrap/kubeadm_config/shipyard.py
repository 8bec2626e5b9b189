"""A harbour where machines get their boot data: the KubeadmConfig controller at work, and a tenant in memory."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from nagaya.api.bootstrap import kubeadm_config
from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.bootstrap.kubeadm_config.controller import controller
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.kube.conditions import get
from nagaya.kube.controller import Controller
from nagaya.kube.runtime import Runtime
from nagaya.pki.authority import CertificateAuthority
from support.certificates import QuickKeys
from support.harbour import CLUSTER, NAMESPACE, SECRETS, TENANT, Harbour, harbour
from support.seen_cluster import INFRASTRUCTURE

KUBECONFIG = f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{TENANT}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
LABEL = {"cluster.x-k8s.io/cluster-name": CLUSTER}


class Shipyard:
    """What a test does to a cluster and its machines."""

    def __init__(self, here: Harbour) -> None:
        self.here = here
        self.tenant = here.tenant

    async def cluster(self, *, infrastructure: bool = True, initialized: bool = False, **spec: Any) -> None:
        reference = {"apiGroup": INFRASTRUCTURE.group, "kind": INFRASTRUCTURE.kind, "name": CLUSTER}
        await self.here.make(
            CLUSTERS,
            spec={
                "infrastructureRef": reference,
                "controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443},
                "clusterNetwork": {
                    "services": {"cidrBlocks": ["10.96.0.0/12"]},
                    "pods": {"cidrBlocks": ["10.1.0.0/16"]},
                },
                **spec,
            },
        )
        if infrastructure:
            await self.here.change(CLUSTERS, status={"initialization": {"infrastructureProvisioned": True}})
        if initialized:
            await self.initialize()

    async def initialize(self) -> None:
        """The control plane runs, and can be talked to."""
        if not await self.here.exists(SECRETS, f"{CLUSTER}-ca"):
            await self.authority()
        await self.secret(f"{CLUSTER}-kubeconfig", value=KUBECONFIG.encode())
        condition = {
            "type": "ControlPlaneInitialized",
            "status": "True",
            "reason": "Initialized",
            "message": "",
            "lastTransitionTime": "2026-11-01T12:00:00Z",
        }
        status = {"conditions": [condition], "initialization": {"controlPlaneInitialized": True}}
        await self.here.change(CLUSTERS, status=status)
        await self.here.settled()

    async def authority(self) -> None:
        made = CertificateAuthority.create("kubernetes", self.here.world.clock)
        await self.secret(f"{CLUSTER}-ca", **{"tls.crt": made.certificate_pem, "tls.key": made.key_pem})

    async def secret(self, name: str, **data: bytes) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        await self.here.make(SECRETS, name, metadata={"labels": LABEL}, type="cluster.x-k8s.io/secret", data=encoded)

    async def machine(self, name: str, *, control_plane: bool = False, metadata: Any = None, **spec: Any) -> None:
        """A Machine with its config."""
        role = {"cluster.x-k8s.io/control-plane": ""} if control_plane else {}
        reference = {"apiGroup": KUBEADM_CONFIGS.group, "kind": KUBEADM_CONFIGS.kind, "name": name}
        host = {"apiGroup": INFRASTRUCTURE.group, "kind": "BoatMachine", "name": name}
        await self.here.make(
            MACHINES,
            name,
            metadata={"labels": {**LABEL, **role}},
            spec={
                "clusterName": CLUSTER,
                "version": "v1.36.3",
                "bootstrap": {"configRef": reference},
                "infrastructureRef": host,
            },
        )
        await self.config(name, MACHINES, metadata, spec)

    async def pool(self, name: str, **spec: Any) -> None:
        """A MachinePool with its config."""
        host = {"apiGroup": INFRASTRUCTURE.group, "kind": "BoatPool", "name": name}
        template = {"clusterName": CLUSTER, "version": "v1.36.3", "bootstrap": {}, "infrastructureRef": host}
        template["bootstrap"] = {
            "configRef": {"apiGroup": KUBEADM_CONFIGS.group, "kind": "KubeadmConfig", "name": name}
        }
        await self.here.make(
            MACHINE_POOLS, name, spec={"clusterName": CLUSTER, "replicas": 1, "template": {"spec": template}}
        )
        await self.config(name, MACHINE_POOLS, None, spec)

    async def config(self, name: str, kind: Any, metadata: Any, spec: dict[str, Any]) -> None:
        owner = await self.here.user.get(kind, NAMESPACE, name)
        reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": owner.metadata.uid}
        made = {"labels": LABEL, "ownerReferences": [{**reference, "controller": True}], **(metadata or {})}
        await self.here.make(KUBEADM_CONFIGS, name, metadata=made, **({"spec": spec} if spec else {}))

    async def joined(self, name: str) -> None:
        await self.here.change(MACHINES, name, status={"nodeRef": {"name": name}})

    async def seen(self, name: str) -> KubeadmConfig:
        await self.here.settled()
        return await self.here.user.get(KUBEADM_CONFIGS, NAMESPACE, name)

    async def told(self, name: str, type: str) -> tuple[str, str, str]:
        condition = get((await self.seen(name)).status.conditions, type)
        assert condition is not None
        return condition.status, condition.reason, condition.message

    async def data(self, name: str) -> bytes:
        """The boot data of a machine; empty if there is none."""
        config = await self.seen(name)
        if not config.status.data_secret_name:
            return b""
        secret = await self.here.user.get(SECRETS, NAMESPACE, config.status.data_secret_name)
        return base64.b64decode(secret.raw["data"]["value"])

    async def files(self, name: str) -> dict[str, str]:
        """What the boot data writes."""
        document = yaml.safe_load(await self.data(name))
        found = {}
        for each in document["write_files"]:
            content = each["content"]
            found[each["path"]] = base64.b64decode(content).decode() if each.get("encoding") else content
        return found

    async def kubeadm(self, name: str) -> dict[str, Any]:
        """kubeadm's documents in the boot data, by kind."""
        files = await self.files(name)
        [text] = [content for path, content in files.items() if path.startswith("/run/kubeadm/")]
        return {each["kind"]: each for each in yaml.safe_load_all(text) if each}

    @property
    def tokens(self) -> dict[str, dict[str, str]]:
        """The tokens that the tenant knows, by the names of their Secrets."""
        return {
            name: {key: base64.b64decode(value).decode() for key, value in found["data"].items()}
            for (collection, namespace, name), found in self.tenant.objects.items()
            if collection.endswith("secrets") and namespace == "kube-system"
        }


@asynccontextmanager
async def shipyard() -> AsyncIterator[Shipyard]:
    def make(rt: Runtime) -> Controller:
        return controller(rt, SecretReader(rt.client, rt.cache), QuickKeys())

    async with harbour(make, [kubeadm_config.DEFINITION]) as here:
        yield Shipyard(here)
