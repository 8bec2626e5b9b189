"""The process behind `nagaya demo`, from its first line to its last.

The plane is in this process too, unless one runs on the same data already: then only the emulated data center is here,
and that one does the rest.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.binaries.releases import DEFAULT_VERSION
from nagaya.blueprints.applying import Refused
from nagaya.cli.demo.data_center import FOLDER, data_center, forget, runs
from nagaya.cli.demo.objects import CLUSTER, NAMESPACE
from nagaya.cli.demo.programs import COMMAND, lacking
from nagaya.cli.demo.tenant import DemoTenant
from nagaya.cli.other_terminal import exports
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.session import Management, Session
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError
from nagaya.kube.transport import NoAnswer, Transport
from nagaya.world import World

KUBECONFIG: Final = "demo.kubeconfig"
MADE: Final = "demo-was-made"
"""A file in the data folder that says so: whoever has deleted the demo does not get it a second time unasked."""


@dataclass(frozen=True, slots=True)
class Demo:
    """What is asked for."""

    data_dir: Path
    management: Path
    """The kubeconfig of the management API."""
    simulated: bool = False
    """Whether to do without the real programs although they are there."""

    async def run(self, transport: Callable[[], Transport], world: World, url: str) -> None:
        """Make the tenant, show it, and keep its data center running until it is deleted. Raises Ended."""
        session = _session(transport, world, url)
        try:
            async with data_center(self.data_dir / FOLDER, world) as facts:
                why = await self._lacks(world)
                (self.data_dir / MADE).touch()
                click.echo(
                    f"\nAn emulated Proxmox VE of {len(facts.endpoints)} hosts runs: {', '.join(facts.endpoints)}"
                )
                _tell_reality(why)
                tenant = DemoTenant(session)
                await tenant.make(facts, real=not why)
                await tenant.follow()
                await tenant.show(self.data_dir / KUBECONFIG)
                self._tell_next(why)
                await tenant.deleted()
            forget(self.data_dir / FOLDER)
            click.echo("The demo was deleted, and its data center has ended.")
        finally:
            await session.client.close()

    async def run_once(self, transport: Callable[[], Transport], world: World, url: str) -> None:
        """The same, if there is nothing else here and the demo was never made before; else only if it is there. What
        goes wrong is told, and ends nothing else."""
        session = _session(transport, world, url)
        try:
            if await self._is_wanted(session):
                await self.run(transport, world, url)
        except (Ended, Refused, ApiError, NoAnswer) as error:
            click.echo(f"The demo could not be made: {error} Try it again: nagaya demo", err=True)
        finally:
            await session.client.close()

    async def delete(self, transport: Callable[[], Transport], world: World, url: str) -> None:
        """Remove everything that the demo made. Raises Ended."""
        session = _session(transport, world, url)
        try:
            tenant = DemoTenant(session)
            if await tenant.exists():
                click.echo(f"Removing the tenant {NAMESPACE}/{CLUSTER} and all that was made for it ...")
            await self._delete(tenant, world)
        finally:
            await session.client.close()
        (self.data_dir / KUBECONFIG).unlink(missing_ok=True)
        if not runs(self.data_dir / FOLDER):  # else whoever runs it puts it away
            forget(self.data_dir / FOLDER)
        click.echo("The demo is gone. Nothing else was touched.")

    async def _delete(self, tenant: DemoTenant, world: World) -> None:
        if not await tenant.exists():
            return
        if runs(self.data_dir / FOLDER):  # in another process
            await tenant.delete()
            return
        async with data_center(self.data_dir / FOLDER, world) as facts:
            # Machines are only gone when their data center says so.
            await tenant.reconnect(facts)
            await tenant.delete()

    async def _is_wanted(self, session: Session) -> bool:
        if await DemoTenant(session).exists():
            return True
        if (self.data_dir / MADE).exists():
            return False
        clusters = (await session.client.list(CLUSTERS)).items
        return not clusters and not (await session.client.list(PROXMOX_CONNECTIONS)).items

    async def _lacks(self, world: World) -> str:
        if self.simulated:
            return "you asked for it (--simulated)"
        return await lacking(DEFAULT_VERSION, world, click.echo)

    def _tell_next(self, why: str) -> None:
        tenant = shlex.quote(str((self.data_dir / KUBECONFIG).absolute()))
        click.echo(f"\nThe tenant {'(simulated) ' if why else ''}is up. Next, in another terminal:")
        for line in exports(self.management):
            click.echo(f"  {line}")
        click.echo(f"  nagaya describe cluster {CLUSTER} -n {NAMESPACE} --watch")
        click.echo(f"  kubectl scale machinedeployment {CLUSTER}-workers -n {NAMESPACE} --replicas=3")
        click.echo(f"  kubectl --kubeconfig {tenant} get nodes,pods --all-namespaces")
        if why:
            click.echo(f"\nTo make its control plane a real one: {COMMAND}, then nagaya demo --delete and nagaya demo.")
        click.echo("\nRemove it with: nagaya demo --delete\nStop with Ctrl-C.")


def _session(transport: Callable[[], Transport], world: World, url: str) -> Session:
    client = Client(transport(), world=world, field_manager="nagaya-cli")
    return Session(client, world, url, NAMESPACE, Management(namespace=NAMESPACE))


def _tell_reality(why: str) -> None:
    if not why:
        click.echo(
            f"The tenant's control plane is real: Kubernetes {DEFAULT_VERSION}. Its workers are emulated: their Nodes "
            "and pods are data that behaves.\n"
        )
    else:
        click.echo(
            f"The tenant is simulated, control plane and workers: {why.rstrip('.')}. Nothing runs in it. To make its "
            f"control plane a real one: {COMMAND}\n"
        )
