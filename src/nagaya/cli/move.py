"""`nagaya move`: clusters from one management API to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nagaya.cli.output.document import output_option, printed
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.prompt import agree
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.cli.output.table import Table
    from nagaya.kube.client import Client
    from nagaya.moving.move import Way
    from nagaya.world import World


@click.command()
@click.option(
    "--to-kubeconfig",
    required=True,
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="How to reach the API that they move to.",
)
@click.option("--to-context", metavar="NAME", help="The context of that kubeconfig.  [default: its current one]")
@click.option("-A", "--all-namespaces", is_flag=True, help="Move everything, of all namespaces.")
@click.option("--dry-run", is_flag=True, help="Only say what would move, in which order, and what stands in the way.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--source-stopped",
    is_flag=True,
    help="No controllers run at the source: do not wait for them to say that they leave objects alone.",
)
@output_option
@management_options
def move(
    to_kubeconfig: Path,
    to_context: str | None,
    all_namespaces: bool,
    dry_run: bool,
    yes: bool,
    source_stopped: bool,
    output: str | None,
    management: Management,
) -> None:
    """Move the clusters of a namespace, or all, to another management API: embedded or any Kubernetes, and back.

    Machines and tenants notice nothing. Clusters are paused, everything that belongs to them is made at the target, and
    only when all of it is there is it taken away here and let go on there. If something ends the move early, the same
    command goes on with it. The target needs the same kinds (`nagaya crds`) and Nagaya's controllers.

    Programs of hosted control planes go on where they are; the controllers of the target take them over when they are
    started there with the same --data-dir, after those of the source have been stopped.

    \b
    Examples:
      nagaya move --to-kubeconfig production.kubeconfig --dry-run
      nagaya move --to-kubeconfig production.kubeconfig -n team-a
      nagaya move --to-kubeconfig production.kubeconfig -A --yes
      nagaya move --kubeconfig production.kubeconfig --to-kubeconfig ~/.local/share/nagaya/kubeconfig -A
    """

    async def work(session: Session) -> int | None:
        from socket import gethostname

        from nagaya.cli.output.screen import Screen, note
        from nagaya.cli.up_run import HOSTED
        from nagaya.moving.move import Move, MoveFailed

        target = _target(to_kubeconfig, to_context, session.world)
        try:
            await _answers(target)
            errand = Move(session.client, target, note, "" if all_namespaces else session.namespace)
            way = await errand.look()
            empty = not way.moved.items and not way.unfinished
            if output is not None and (empty or dry_run or way.problems):
                click.echo(printed(_document(way, moved=False), output), nl=False)
            if empty:
                where = "" if all_namespaces else f" in namespace {session.namespace}. Move those of all with -A"
                note(f"There is nothing to move{where}.")
                return None
            if way.moved.items and output is None:
                Screen().table(_table(way))
            if way.unfinished:
                names = ", ".join(map(str, way.unfinished))
                note(f"An earlier move has left these paused at the target; they are let go on: {names}.")
            if way.problems:
                for problem in way.problems:
                    note(f"- {problem}")
                raise Ended("The move cannot begin: see above.")
            home = _home(way, management)
            if way.moved.hosted:
                note(_handover(way, to_kubeconfig, home))
            if dry_run:
                note("Nothing was changed: this was a dry run.")
                return None
            if not yes:
                _ask(way)
            where = "" if home is None else f"{home / HOSTED} of {gethostname()}"
            await errand.run(way, stopped=source_stopped, home=where)
        except MoveFailed as error:
            raise Ended(str(error)) from error
        finally:
            await target.close()
        if output is not None:
            click.echo(printed(_document(way, moved=True), output), nl=False)
        note(f"Done. See them: nagaya get clusters -A --kubeconfig {to_kubeconfig}")
        if way.moved.hosted:
            note("Now hand the programs of the hosted control planes over, as said above.")
        return None

    run(management, work)


def _target(kubeconfig: Path, context: str | None, world: World) -> Client:
    from nagaya.cli.controllers import connection
    from nagaya.kube.client import Client
    from nagaya.kube.http import HttpTransport

    try:
        found = connection(kubeconfig, context)
    except click.ClickException as error:
        raise Ended(f"--to-kubeconfig cannot be used: {error.message}") from error
    return Client(HttpTransport(found, world=world), world=world, field_manager="nagaya-cli")


async def _answers(target: Client) -> None:
    """Raises Ended if the target cannot be used: everything else that fails is told of the source."""
    from nagaya.clusters.management import identity
    from nagaya.kube.errors import ApiError
    from nagaya.kube.transport import NoAnswer

    try:
        await identity(target)
    except NoAnswer as error:
        raise Ended(f"The API of --to-kubeconfig does not answer: {error.why.rstrip('.')}.") from error
    except ApiError as error:
        raise Ended(f"The API of --to-kubeconfig refuses you: {str(error).rstrip('.')}.") from error


def _table(way: Way) -> Table:
    """What moves, a line for each kind in the order of its first object."""
    from nagaya.cli.output.table import Cell, Table

    table = Table(("KIND", "OBJECTS", "NAMES"))
    names: dict[str, list[str]] = {}
    for each in (item for made in way.rounds for item in made):
        names.setdefault(each.kind.kind, []).append(str(each).removeprefix(f"{each.kind.kind} "))
    for kind, found in names.items():
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        table.add(Cell(kind, "bold"), Cell(str(len(found))), Cell(", ".join(found[:3]) + more))
    return table


def _document(way: Way, *, moved: bool) -> dict[str, Any]:
    """The same for programs: every object, and in which round it is made at the target."""
    objects = [
        {"kind": each.kind.kind, "namespace": each.metadata.namespace, "name": each.metadata.name, "round": number}
        for number, made in enumerate(way.rounds, 1)
        for each in made
    ]
    unfinished = [str(each) for each in way.unfinished]
    return {"moved": moved, "objects": objects, "unfinished": unfinished, "problems": list(way.problems)}


def _home(way: Way, management: Management) -> Path | None:
    """The data folder with the programs of hosted control planes, if it is on this machine, where one would look."""
    from nagaya.cli.data_dir import default_data_dir
    from nagaya.cli.up_run import HOSTED
    from nagaya.controlplane.hosted.host.settings import HostSettings
    from nagaya.moving.hosted import identity

    names = [name for each in way.moved.hosted for name in identity(each).values()]
    beside = [] if management.kubeconfig is None else [management.kubeconfig.absolute().parent]
    for folder in (default_data_dir().absolute(), *beside):
        tenants = HostSettings(folder / HOSTED).tenants
        if names and all((tenants / name).is_dir() for name in names):
            return folder
    return None


def _handover(way: Way, kubeconfig: Path, home: Path | None) -> str:
    """What is left to do for programs that run beside the controllers of the source."""
    count = len(way.moved.hosted)
    whose = "a hosted control plane" if count == 1 else f"{count} hosted control planes"
    return (
        f"The programs and the data of {whose} stay on the machine that they are on, and go on running. When the move "
        "is done, stop the controllers of the source (`nagaya up`) there and start those of the target with the same "
        f"folder, which take them over as they run: nagaya up --kubeconfig {kubeconfig} --data-dir {home or 'FOLDER'}"
    )


def _ask(way: Way) -> None:
    clusters = len(way.moved.clusters)
    agree(f"Move {clusters} cluster{'s' * (clusters != 1)} with {len(way.moved.items)} objects?")
