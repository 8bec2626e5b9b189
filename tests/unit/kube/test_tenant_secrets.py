from __future__ import annotations

import asyncio
import base64
from typing import Any

import yaml

from nagaya.kube.cache.cache import Cache
from nagaya.kube.connection import Connection
from nagaya.kube.key import Key
from nagaya.kube.remote import Remotes
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

A = Key("n", "a")
SECRETS = "api/v1/secrets"


def kubeconfig(server: str) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    return base64.b64encode(yaml.safe_dump(content).encode()).decode()


def put(server: FakeServer, name: str, **data: str) -> None:
    metadata: dict[str, Any] = {"labels": {"cluster.x-k8s.io/cluster-name": "a"}}
    server.put(SECRETS, "n", name, data=data, metadata=metadata)


def test_kubeconfigs_in_secrets_are_the_credentials_of_tenants() -> None:
    async def main() -> None:
        world = virtual_world()
        management, tenant = FakeServer(), FakeServer()
        cache = Cache(management.client(world), world)
        connections: list[Connection] = []

        def connect(connection: Connection) -> FakeServer:
            connections.append(connection)
            return tenant

        remotes = Remotes(connect, world)
        follow_secrets(cache, remotes)
        remotes.want(A)
        put(management, "a-kubeconfig", value=kubeconfig("https://one:6443"))
        put(management, "a-ca", **{"tls.key": "c2VjcmV0"})
        await asyncio.sleep(10)
        assert [each.server for each in connections] == ["https://one:6443"]
        assert remotes.get(A) is not None
        held = {obj.metadata.name: obj.data for obj in cache.list(TENANT_SECRETS)}
        assert held["a-ca"] == {}, "keys of authorities are not kept in memory"

        put(management, "a-kubeconfig", value=kubeconfig("https://two:6443"))
        await asyncio.sleep(1)
        assert connections[-1].server == "https://two:6443"

        put(management, "a-kubeconfig", value="not base64!")
        await asyncio.sleep(1)
        assert remotes.get(A) is None
        assert "Secret n/a-kubeconfig" in remotes.probe(A).problem

        management.remove(SECRETS, "n", "a-kubeconfig")
        await asyncio.sleep(1)
        assert "does not exist" in remotes.probe(A).problem
        assert "secret-token" not in remotes.probe(A).problem
        await remotes.close()
        await cache.close()

    run(main())
