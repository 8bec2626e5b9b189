"""`nagaya get`: what one needs of clusters: a list of them, and the way into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.document import output_option
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.cli.output.table import Table
    from nagaya.insight.picture.kinds import Kinds
    from nagaya.insight.picture.member import Member
    from nagaya.insight.picture.references import Reference
    from nagaya.insight.picture.summary import Summary


_SPARE: Final = ("AGE", "VERSION", "PHASE", "CONTROL-PLANE", "WORKERS")
"""Columns that a narrow terminal goes without, the first before the others."""


@click.group()
def get() -> None:
    """List clusters, and get into one."""


@get.command()
@click.option("-A", "--all-namespaces", is_flag=True, help="Those of all namespaces.")
@output_option
@management_options
def clusters(all_namespaces: bool, output: str | None, management: Management) -> None:
    """List the clusters of a namespace: how far they are, what they run, how many of their machines are ready.

    \b
    Examples:
      nagaya get clusters
      nagaya get clusters -A
      nagaya get clusters -n team-a -o json
    """

    async def work(session: Session) -> int | None:
        from nagaya.cli.output.document import printed
        from nagaya.cli.output.screen import Screen, note

        found = await _summaries(session, "" if all_namespaces else session.namespace)
        screen = Screen()
        if output is not None:
            screen.text(printed([_document(each) for each in found], output))
        elif found:
            screen.table(_table(found, session, all_namespaces), _SPARE)
        else:
            where = "" if all_namespaces else f" in namespace {session.namespace}. See those of all with -A"
            note(f"There are no Clusters{where}.")
        return None

    run(management, work)


@get.command()
@click.argument("name")
@click.option(
    "--to", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write it to a file, readable by you only."
)
@click.option("--merge", is_flag=True, help="Add it to ~/.kube/config, which is kept as ~/.kube/config.backup.")
@click.option(
    "--into",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --merge: another file.  [default: ~/.kube/config]",
)
@click.option("--as", "name_as", metavar="NAME", help="With --merge: how its entries are called.  [default: as given]")
@click.option("--use", is_flag=True, help="With --merge: make it the current context.")
@click.option("--force", is_flag=True, help="Replace the file, or entries of the same name that lead elsewhere.")
@click.option("--check", is_flag=True, help="See whether it works: the cluster's API is asked for its version.")
@output_option
@management_options
def kubeconfig(
    name: str,
    file: Path | None,
    merge: bool,
    into: Path | None,
    name_as: str | None,
    use: bool,
    force: bool,
    check: bool,
    output: str | None,
    management: Management,
) -> None:
    """Print the administrator's kubeconfig of the cluster NAME, write it to a file, or merge it into yours.

    Whoever has it may do everything in the cluster. With --check and nothing else it is not printed.

    \b
    Examples:
      nagaya get kubeconfig demo > demo.kubeconfig
      nagaya get kubeconfig demo --to demo.kubeconfig --check
      nagaya get kubeconfig demo --merge --use
      nagaya get kubeconfig demo -n team-a --merge --as team-a-demo
    """
    if (into is not None or name_as is not None or use) and not merge:
        raise click.UsageError("--into, --as and --use go with --merge.")
    if merge and file is not None:
        raise click.UsageError("Choose one of --to and --merge.")

    async def work(session: Session) -> int | None:
        from nagaya.cli.get_kubeconfig import Merged, merged_into, parsed, read_kubeconfig, works, written
        from nagaya.cli.output.document import printed
        from nagaya.cli.output.screen import Screen, note

        text = await read_kubeconfig(session, name)
        if merge:
            target = into or Path.home() / ".kube" / "config"
            done: Merged = merged_into(target, parsed(text), name_as, use=use, force=force)
            note(done.sentence)
        elif file is not None:
            written(file, text, force=force)
            note(f"Wrote {file}. Try it: kubectl --kubeconfig {file} get nodes")
        elif output is not None:
            Screen().text(printed(parsed(text), output))
        elif not check:
            Screen().text(text)
        if check:
            note(await works(session.world, text, name))
        return None

    run(management, work)


async def _summaries(session: Session, namespace: str) -> list[Summary]:
    from nagaya.insight.picture.read import read_clusters
    from nagaya.insight.picture.references import reference_at
    from nagaya.insight.picture.summary import summary

    kinds = await session.kinds()
    found = await read_clusters(session.client, kinds, namespace)
    planes = await _control_planes(session, kinds, found, namespace)
    return [summary(each, planes.get(reference_at(each, "spec", "controlPlaneRef"))) for each in found]


async def _control_planes(
    session: Session, kinds: Kinds, clusters: list[Member], namespace: str
) -> dict[Reference | None, Member]:
    """The control planes of clusters, by reference: one list for each kind of them."""
    from nagaya.insight.picture.member import member
    from nagaya.insight.picture.references import Reference, reference_at
    from nagaya.kube.errors import Forbidden

    named = [reference_at(each, "spec", "controlPlaneRef") for each in clusters]
    needed = {(each.group, each.kind) for each in named if each is not None}
    planes: dict[Reference | None, Member] = {}
    for group, kind in sorted(needed):
        found = kinds.get(group, kind)
        if found is None:
            continue
        try:
            listed = (await session.client.list(found.kind, namespace)).items
        except Forbidden:
            continue  # the Cluster itself says nearly as much
        for each in listed:
            planes[Reference(group, kind, each.metadata.namespace, each.metadata.name)] = member(each, found.contract)
    return planes


def _table(found: list[Summary], session: Session, namespaces: bool) -> Table:
    from nagaya.cli.output.age import age
    from nagaya.cli.output.table import Cell, Table

    now = session.world.clock.now()
    header = ("NAME", "PHASE", "AVAILABLE", "VERSION", "CONTROL-PLANE", "WORKERS", "AGE")
    table = Table(("NAMESPACE", *header) if namespaces else header)
    styles = {"True": "green", "False": "red"}
    for each in found:
        cells = (
            Cell(each.name, "bold"),
            Cell(each.phase or "-"),
            Cell(each.available, styles.get(each.available, "yellow")),
            Cell(each.version or "-"),
            Cell(str(each.control_plane) or "-"),
            Cell(str(each.workers) or "-"),
            Cell(age(each.created, now)),
        )
        table.add(*((Cell(each.namespace), *cells) if namespaces else cells))
    return table


def _document(each: Summary) -> dict[str, Any]:
    return {
        "namespace": each.namespace,
        "name": each.name,
        "phase": each.phase,
        "available": each.available,
        "version": each.version,
        "controlPlane": {"ready": each.control_plane.ready, "desired": each.control_plane.desired},
        "workers": {"ready": each.workers.ready, "desired": each.workers.desired},
        "created": None if each.created is None else f"{each.created:%Y-%m-%dT%H:%M:%SZ}",
        "infrastructure": each.infrastructure,
        "simulated": each.simulated,
    }
