"""The demo's tenant: made, followed until it is there, shown, and taken away again.

What always holds: only what `objects` names is made or removed, and each step can be repeated.
"""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import click

from nagaya.api.cluster.annotations import EXCLUDE_NODE_DRAINING
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.labels import SIMULATED
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.untyped import Untyped
from nagaya.blueprints.applying import create, examine, kind_of
from nagaya.blueprints.blueprint import blueprint
from nagaya.cli.demo.objects import CLUSTER, DATA_STORE, NAMESPACE, DataCenterFacts, surroundings, wish
from nagaya.cli.describe import watch
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.screen import Screen
from nagaya.cli.output.session import Session
from nagaya.cli.output.table import Cell, Table
from nagaya.insight.tree.shown import Shown
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.kubeconfig import parse_text
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.tenant_secrets import SUFFIX, TENANT_SECRETS, VALUE
from nagaya.kube.transport import NoAnswer
from nagaya.pki.files import write_atomically
from nagaya.world import World

PATIENCE: Final = 600.0
_MANAGER: Final = "nagaya-demo"
_NAMESPACES: Final = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
_AS_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"


class DemoTenant:
    """The tenant, as one process looks after it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._client = session.client

    async def exists(self) -> bool:
        """Whether the demo's namespace is there."""
        return await self._find(_NAMESPACES, "", NAMESPACE) is not None

    async def is_real(self) -> bool | None:
        """Whether its control plane is a real one; None if there is no tenant."""
        found = await self._find(CLUSTERS, NAMESPACE, CLUSTER)
        return None if found is None else SIMULATED not in found.metadata.labels

    async def make(self, facts: DataCenterFacts, *, real: bool) -> None:
        """Have everything declared that makes the tenant. The machines of an earlier life are replaced by new ones."""
        was_real = await self.is_real()
        for manifest in surroundings(facts, real=real):
            await self._apply(manifest)
        if was_real is not None and (not was_real or not real):
            click.echo("The tenant of the last time was simulated, and went with its process: it is made anew.")
            await self._delete_cluster()
        elif was_real:
            await self._replace_machines()
        drafted = blueprint(wish(real=real))
        if not real:
            drafted[0]["metadata"]["labels"][SIMULATED] = "true"
        await create(self._client, await examine(self._client, drafted))

    async def reconnect(self, facts: DataCenterFacts) -> None:
        """Have an existing tenant find the data center where it is now."""
        for manifest in surroundings(facts, real=bool(await self.is_real())):
            await self._apply(manifest)

    async def follow(self) -> None:
        """Show how it comes up, until it is available. Raises Ended if it takes too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                await watch(self._session, CLUSTER, Shown((), True, False, False), None, until_available=True)
        except TimeoutError:
            raise Ended(
                f"The tenant is not available after {PATIENCE / 60:.0f} minutes. See why: nagaya describe cluster "
                f"{CLUSTER} -n {NAMESPACE}"
            ) from None

    async def show(self, kubeconfig: Path) -> None:
        """Write its kubeconfig, and print its Nodes as kubectl would."""
        secret = await self._client.get(TENANT_SECRETS, NAMESPACE, f"{CLUSTER}{SUFFIX}")
        text = base64.b64decode(secret.data[VALUE]).decode()
        write_atomically(kubeconfig, text.encode())
        click.echo(f"\n$ kubectl --kubeconfig {kubeconfig} get nodes")
        Screen().table(await nodes(text, self._session.world))

    async def deleted(self) -> None:
        """Wait until somebody has deleted the demo."""
        while not await self._vanishes(_NAMESPACES, "", NAMESPACE):
            continue

    async def delete(self) -> None:
        """Remove everything that the demo made, in order."""
        await self._delete_cluster()
        store = await self._find(DATA_STORES, "", DATA_STORE)
        if store is not None:
            await self._client.delete(DATA_STORES, "", DATA_STORE)
            await self._gone(DATA_STORES, "", DATA_STORE)
        if await self.exists():
            await self._client.delete(_NAMESPACES, "", NAMESPACE)
            await self._gone(_NAMESPACES, "", NAMESPACE)

    async def _delete_cluster(self) -> None:
        if await self._find(CLUSTERS, NAMESPACE, CLUSTER) is None:
            return
        for machine in (await self._client.list(MACHINES, NAMESPACE)).items:
            await self._leave_undrained(machine.metadata.name)
        await self._client.delete(CLUSTERS, NAMESPACE, CLUSTER)
        await self._gone(CLUSTERS, NAMESPACE, CLUSTER)
        # It goes after the Cluster, and keeps the connection until then.
        await self._gone(PROXMOX_CLUSTERS, NAMESPACE, CLUSTER)

    async def _replace_machines(self) -> None:
        """The emulated machines of the last time are gone with their data center."""
        found = (await self._client.list(MACHINES, NAMESPACE)).items
        if found:
            click.echo(
                f"The {len(found)} emulated machines of the last time went with their process: they are replaced."
            )
        for machine in found:
            await self._leave_undrained(machine.metadata.name)
            await self._client.delete(MACHINES, NAMESPACE, machine.metadata.name)
        for machine in found:
            await self._gone(MACHINES, NAMESPACE, machine.metadata.name)

    async def _leave_undrained(self, name: str) -> None:
        """Nobody runs on it, and nobody would answer."""
        content = {"metadata": {"annotations": {EXCLUDE_NODE_DRAINING: ""}}}
        try:
            await self._client.patch(MACHINES, NAMESPACE, name, Merge(content))
        except NotFound:
            return

    async def _apply(self, manifest: dict[str, Any]) -> None:
        metadata = manifest["metadata"]
        where = kind_of(manifest), metadata.get("namespace", ""), metadata["name"]
        await self._client.patch(*where, Apply(manifest, _MANAGER, force=True))

    async def _find(self, kind: Kind[Any], namespace: str, name: str) -> Any:
        try:
            return await self._client.get(kind, namespace, name)
        except NotFound:
            return None

    async def _gone(self, kind: Kind[Any], namespace: str, name: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not await self._vanishes(kind, namespace, name):
                    continue  # the server ended the watch, as it does from time to time
        except TimeoutError:
            where = f" -n {namespace}" if namespace else ""
            raise Ended(
                f"{kind.kind} {name} is not gone after {PATIENCE / 60:.0f} minutes. See what keeps it: kubectl "
                f"describe {kind.kind.lower()} {name}{where}"
            ) from None

    async def _vanishes(self, kind: Kind[Any], namespace: str, name: str) -> bool:
        chosen = f"metadata.name={name}"
        listing = await self._client.list(kind, namespace, fields=chosen)
        if not listing.items:
            return True
        version = listing.resource_version
        events = self._client.watch(kind, namespace, resource_version=version, fields=chosen)
        async with aclosing(events):
            async for event in events:
                if event.type == "DELETED":
                    return True
        return False


async def nodes(kubeconfig: str, world: World) -> Table:
    """The Nodes of a cluster, in the columns that its API server has for them."""
    client = Client(HttpTransport(parse_text(kubeconfig, source="the tenant's kubeconfig"), world=world), world=world)
    try:
        answer = await client.raw("GET", "/api/v1/nodes", accept=_AS_TABLE)
    except NoAnswer as error:
        raise Ended(f"The tenant's API does not answer: {error.why}.") from error
    finally:
        await client.close()
    found = json.loads(answer.body)
    shown = [number for number, each in enumerate(found["columnDefinitions"]) if each.get("priority", 0) == 0]
    table = Table(tuple(found["columnDefinitions"][number]["name"].upper() for number in shown))
    for row in found.get("rows") or ():
        table.add(*(Cell(str(row["cells"][number])) for number in shown))
    return table
