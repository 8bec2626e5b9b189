"""`nagaya tenant`: one tenant in one file, and back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nagaya.cli.data_dir import default_data_dir
from nagaya.cli.output.document import output_option, printed, result_option
from nagaya.cli.output.unanswered import unanswered, unusable
from nagaya.cli.usual_kubeconfig import usual_kubeconfig

if TYPE_CHECKING:
    from nagaya.api.controlplane.data_store import DataStore
    from nagaya.controlplane.hosted.archive.found import Found
    from nagaya.controlplane.hosted.archive.plan import Plan
    from nagaya.controlplane.hosted.archive.reader import Contents
    from nagaya.controlplane.hosted.data_store.driver import Driver
    from nagaya.kube.client import Client
    from nagaya.world import World

F = TypeVar("F", bound=Callable[..., Any])


def _management(command: F) -> F:
    """The options by which commands reach the management API and the data."""
    options = (
        click.option(
            "--kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help="How to reach the management API.  [default: $KUBECONFIG, the pod's service account, ~/.kube/config, "
            "or that of `nagaya up`]",
        ),
        click.option("--context", help="The context of the kubeconfig to use.  [default: its current one]"),
        click.option(
            "--tenants-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="The folder in which Nagaya's controllers keep tenants, for data stores that are on this machine.  "
            "[default: ~/.local/share/nagaya/hosted]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def tenant() -> None:
    """Back up and restore single tenants: data, authorities and objects of a hosted control plane."""


@tenant.command()
@click.argument("name")
@click.option("-n", "--namespace", metavar="NAMESPACE", help="Where it is.  [default: the kubeconfig's]")
@click.option(
    "--to", "file", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The archive to write."
)
@click.option("--force", is_flag=True, help="Replace the archive if it exists.")
@result_option
@_management
def backup(
    name: str,
    namespace: str | None,
    file: Path,
    force: bool,
    output: str | None,
    kubeconfig: Path | None,
    context: str | None,
    tenants_dir: Path | None,
) -> None:
    """Copy the tenant NAME into one file, while it runs.

    NAME is that of its Cluster, or of its HostedControlPlane. The archive holds all data as it was at one moment, the
    keys of its authorities and its Cluster and HostedControlPlane; not its machines. Whoever has it can be anybody in
    the tenant: it is readable by you only.

    \b
    Examples:
      nagaya tenant backup shop --to shop-monday.tenant
      nagaya tenant backup shop -n team-a --to /backups/shop.tenant --force
    """
    from nagaya.controlplane.hosted.archive.backup import back_up
    from nagaya.controlplane.hosted.archive.errors import ArchiveError
    from nagaya.controlplane.hosted.archive.found import find

    async def work(session: _Session) -> None:
        found = await find(session.client, session.namespace(namespace), name)
        if found.data_store is None:
            raise ArchiveError(f"The DataStore of {found.names} does not exist.")
        await session.expect_own(found)
        driver = await session.reach(found.data_store)
        with session.reporter.activity(f"Copying {found.names}", "bytes") as activity:
            made = await back_up(found, driver, file, session.world, moved=activity.reached, overwrite=force)
        contents = made.contents
        if output is not None:
            told = {"file": str(file), "bytes": made.size, **_shown(contents)}
            click.echo(printed(told, output), nl=False)
            return
        click.echo(
            f"Wrote {file} ({_size(made.size)}): {contents.keys} keys of revision {contents.revision}. "
            f"Put it back with: nagaya tenant restore {file}"
        )

    _run(work, kubeconfig, context, tenants_dir)


@tenant.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--as", "name", metavar="NAME", help="Another name for Cluster and control plane: a tenant of its own.")
@click.option("-n", "--namespace", metavar="NAMESPACE", help="Another namespace.  [default: the archive's]")
@click.option("--data-store", default="", metavar="NAME", help="Another DataStore.  [default: the archive's]")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--force",
    is_flag=True,
    help="Also if the tenant is there: its data is replaced. What it had is put into another archive first.",
)
@result_option
@_management
def restore(
    file: Path,
    name: str | None,
    namespace: str | None,
    data_store: str,
    dry_run: bool,
    force: bool,
    output: str | None,
    kubeconfig: Path | None,
    context: str | None,
    tenants_dir: Path | None,
) -> None:
    """Put the tenant in FILE back, or beside the first one under another name.

    FILE is read to its end and checked before anything is done. The control plane is stopped and paused until all of
    its data is there. If something ends the restore early, the same command goes on with it.

    \b
    Examples:
      nagaya tenant restore shop-monday.tenant --dry-run
      nagaya tenant restore shop-monday.tenant
      nagaya tenant restore shop-monday.tenant --as shop-trial
      nagaya tenant restore shop-monday.tenant --force
    """
    from nagaya.controlplane.hosted.archive.restore import Restorer, read_whole

    async def work(session: _Session) -> None:
        archive, contents = await read_whole(file)
        try:
            planned, found = await _planned(session.client, contents, name, namespace, data_store, force)
            if output is None:
                _say(planned)
            if dry_run:
                _finish(planned, contents, output, "Nothing was done: this was a dry run.", done=False)
                return
            with session.reporter.activity(f"Restoring {planned.names}", "bytes") as activity:
                restorer = Restorer(
                    session.client,
                    archive,
                    contents,
                    session.world,
                    session.reach,
                    session.kept,
                    tell=session.reporter.say,
                    moved=activity.reached,
                )
                plane = await restorer.run(planned, found)
        finally:
            archive.close()
        where = f"-n {plane.metadata.namespace} {plane.metadata.name}"
        see = f"See it start: kubectl get hostedcontrolplane {where} --watch"
        _finish(planned, contents, output, f"Restored {contents.keys} keys. {see}", done=True)

    _run(work, kubeconfig, context, tenants_dir)


@tenant.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@output_option
def verify(file: Path, output: str | None) -> None:
    """Read the archive FILE to its end, check it, and say what is in it.

    \b
    Examples:
      nagaya tenant verify shop-monday.tenant
      nagaya tenant verify shop-monday.tenant -o json
    """
    from nagaya.controlplane.hosted.archive.errors import ArchiveError
    from nagaya.controlplane.hosted.archive.restore import read_whole

    try:
        archive, contents = asyncio.run(read_whole(file))
    except ArchiveError as error:
        raise click.ClickException(str(error)) from error
    archive.close()
    if output is not None:
        click.echo(printed({"file": str(file), **_shown(contents)}, output), nl=False)
        return
    head = contents.head
    click.echo(f"{file} is whole: {head.format}, made {head.made}.")
    click.echo(f"Cluster {head.namespace}/{head.cluster}, Kubernetes {head.version}, DataStore {head.data_store}.")
    click.echo(f"{contents.keys} keys of revision {contents.revision}; Secrets: {', '.join(contents.secrets)}.")


class _Session:
    """What commands need of the world."""

    def __init__(self, client: Client, world: World, default_namespace: str, tenants_dir: Path) -> None:
        from nagaya.binaries.progress import reporter_for

        self.client = client
        self.world = world
        self.reporter = reporter_for(sys.stderr, world.clock)
        self._default_namespace = default_namespace
        self._tenants_dir = tenants_dir

    def namespace(self, asked: str | None) -> str:
        """The one that was asked for, or the kubeconfig's."""
        return asked or self._default_namespace or "default"

    async def expect_own(self, found: Found) -> None:
        """Raises ArchiveError if a tenant is not what its control plane says that it is."""
        from nagaya.controlplane.hosted.archive.errors import ArchiveError
        from nagaya.controlplane.hosted.archive.reach import expect_own

        try:
            if found.plane is not None:
                await asyncio.to_thread(expect_own, found.plane, self._tenants_dir)
        except ValueError as error:
            raise ArchiveError(str(error)) from error

    async def reach(self, store: DataStore) -> Driver:
        """The store of a DataStore."""
        from nagaya.controlplane.hosted.archive.reach import reach

        return await reach(self.client, store, self._tenants_dir, self.world)

    def kept(self, uid: str) -> dict[str, bytes]:
        """What a tenant of this machine has for its store."""
        from nagaya.controlplane.hosted.archive.reach import kept

        return kept(self._tenants_dir, uid)


async def _planned(
    client: Client, contents: Contents, name: str | None, namespace: str | None, data_store: str, force: bool
) -> tuple[Plan, Found]:
    from nagaya.controlplane.hosted.archive.errors import Refused
    from nagaya.controlplane.hosted.archive.found import look
    from nagaya.controlplane.hosted.archive.objects import Names, secrets_as
    from nagaya.controlplane.hosted.archive.plan import Asked, before, plan

    old = before(contents)
    names = Names(namespace or old.namespace, name or old.cluster, name or old.control_plane)
    store = data_store or contents.head.data_store
    found = await look(client, names, store, secrets_as(contents.secrets, old, names))
    planned = plan(contents, Asked(names, data_store, force), found)
    if planned.refused:
        raise Refused(planned.refused)
    return planned, found


def _say(planned: Plan) -> None:
    for number, step in enumerate(planned.steps, 1):
        click.echo(f"{number}. {step}")
    for warning in planned.warnings:
        click.echo(f"Note: {warning}")


def _finish(planned: Plan, contents: Contents, output: str | None, sentence: str, *, done: bool) -> None:
    """Say in the end what was planned and whether it was done."""
    if output is None:
        click.echo(sentence)
        return
    names = planned.names
    told = {
        "done": done,
        "restored": {"namespace": names.namespace, "cluster": names.cluster, "controlPlane": names.control_plane},
        "steps": [*planned.steps],
        "warnings": [*planned.warnings],
        "archive": _shown(contents),
    }
    click.echo(printed(told, output), nl=False)


def _shown(contents: Contents) -> dict[str, Any]:
    """What is in an archive, without any of its secrets."""
    import msgspec

    head: dict[str, Any] = msgspec.to_builtins(contents.head)
    return {**head, "revision": contents.revision, "keys": contents.keys, "secrets": [*contents.secrets]}


def _run(
    work: Callable[[_Session], Awaitable[None]], path: Path | None, context: str | None, tenants_dir: Path | None
) -> None:
    import uvloop

    from nagaya.cli.controllers import connection
    from nagaya.controlplane.hosted.archive.errors import ArchiveError
    from nagaya.controlplane.hosted.data_store.errors import StoreError
    from nagaya.kube.client import Client
    from nagaya.kube.errors import ApiError
    from nagaya.kube.http import HttpTransport
    from nagaya.kube.transport import NoAnswer
    from nagaya.world import World

    try:
        found = connection(usual_kubeconfig(path), context)
    except click.ClickException as error:
        raise click.ClickException(unusable(error.message)) from error
    world = World()

    async def run() -> None:
        client = Client(HttpTransport(found, world=world), world=world, field_manager="nagaya-tenant")
        try:
            folder = tenants_dir or default_data_dir() / "hosted"
            await work(_Session(client, world, found.namespace, folder))
        finally:
            await client.close()

    try:
        uvloop.run(run())
    except NoAnswer as error:
        raise click.ClickException(unanswered(error)) from error
    except (ArchiveError, StoreError, ApiError) as error:
        raise click.ClickException(f"{str(error).rstrip('.')}.") from error
    except KeyboardInterrupt:
        click.echo("Stopped. The same command goes on where it was.", err=True)
        raise SystemExit(130) from None


def _size(number: int) -> str:
    return f"{number / 1_000_000:.1f} MB" if number >= 100_000 else f"{number / 1000:.0f} kB"
