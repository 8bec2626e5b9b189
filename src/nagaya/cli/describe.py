"""`nagaya describe`: how a cluster stands, as a tree, once or as long as one looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from nagaya.cli.output.document import output_option
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.length import read_length
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.insight.picture.picture import Picture
    from nagaya.insight.tree.shown import Shown

AGEING: Final = 5.0
"""Seconds after which a tree on a terminal is drawn again although nothing has changed: it says how long ago things
were."""


@click.group()
def describe() -> None:
    """Show how something stands, and why."""


@describe.command()
@click.argument("name")
@click.option("-w", "--watch", "watching", is_flag=True, help="Draw it again on every change, until Ctrl-C.")
@click.option(
    "--until-available", is_flag=True, help="Watch until the cluster is Available: exit code 0. If it goes away: 1."
)
@click.option(
    "--timeout", callback=read_length, metavar="DURATION", help="With --until-available: give up after so long, 1."
)
@click.option(
    "--show-conditions",
    "conditions",
    default="",
    metavar="LIST",
    help="All conditions of these: `all`, kinds, or KIND/NAME, with commas between. With ! at the end of one (all!) "
    "only conditions that have something to say.",
)
@click.option("--grouping/--no-grouping", default=True, help="Equal machines in one line.  [default: grouping]")
@click.option("--show-machinesets", "machine_sets", is_flag=True, help="The MachineSets of MachineDeployments too.")
@click.option("--echo", is_flag=True, help="Objects of machines also when they say nothing that the machine does not.")
@output_option
@management_options
def cluster(
    name: str,
    watching: bool,
    until_available: bool,
    timeout: float | None,
    conditions: str,
    grouping: bool,
    machine_sets: bool,
    echo: bool,
    output: str | None,
    management: Management,
) -> None:
    """Show the cluster NAME as a tree: its objects, how each fares, since when, and what it says.

    On a terminal --watch draws the tree again in place; into a pipe it prints a line for each change, with -o json or
    yaml the whole tree for each.

    \b
    Examples:
      nagaya describe cluster demo
      nagaya describe cluster demo --watch
      nagaya describe cluster demo --until-available --timeout 10m
      nagaya describe cluster demo --show-conditions Machine,ProxmoxMachine/demo-1
      nagaya describe cluster demo -n team-a -o json
    """
    from nagaya.insight.tree.shown import Shown

    if timeout is not None and not until_available:
        raise click.UsageError("--timeout goes with --until-available.")
    asked = tuple(each.strip() for each in conditions.split(",") if each.strip())
    shown = Shown(asked, grouping, echo, machine_sets)

    async def work(session: Session) -> int | None:
        import asyncio

        if not watching and not until_available:
            return await _once(session, name, shown, output)
        try:
            async with asyncio.timeout(timeout):
                return await watch(session, name, shown, output, until_available)
        except TimeoutError:
            raise Ended(await _late(session, name, timeout or 0.0)) from None

    run(management, work)


async def _once(session: Session, name: str, shown: Shown, output: str | None) -> int | None:
    from nagaya.cli.output.document import printed
    from nagaya.cli.output.screen import Screen, note
    from nagaya.cli.output.tree import drawn_tree, tree_table
    from nagaya.insight.picture.read import read_picture
    from nagaya.insight.tree.document import document
    from nagaya.insight.tree.tree import tree

    kinds = await session.kinds()
    picture = await read_picture(session.client, kinds, await session.cluster(kinds, name))
    screen, root = Screen(), tree(picture, shown)
    if output is not None:
        screen.text(printed(document(root), output))
        return None
    now = session.world.clock.now()
    if screen.terminal:
        screen.show(drawn_tree(root, now, screen.console.width))
    else:
        screen.table(tree_table(root, now))
    for each in picture.unread:
        note(f"Not shown: {each.rstrip('.')}.")
    return None


async def watch(session: Session, name: str, shown: Shown, output: str | None, until_available: bool) -> int | None:
    """Show a cluster as it changes, until it is gone, or available if that is asked for. Raises Ended."""
    import asyncio

    from nagaya.cli.output.watching import ChangesView, DocumentView, TreeView, View
    from nagaya.insight.picture.live import Live
    from nagaya.kube.key import Key

    kinds = await session.kinds()
    await session.cluster(kinds, name)
    live = Live(session.client, session.world, kinds, Key(session.namespace, name))
    view: View = DocumentView(shown, output) if output is not None else ChangesView(shown)
    if output is None and view.screen.terminal:
        view = TreeView(shown)
    try:
        await live.start()
        with view:
            while (picture := await live.picture()) is not None:
                view.show(picture, session.world.clock.now())
                if until_available and _available(picture):
                    return None
                try:
                    await asyncio.wait_for(live.changed(), AGEING if view.ages else None)
                except TimeoutError:
                    continue
        if until_available:
            raise Ended(f"Cluster {name} was deleted before it was available.")
        if output is None:
            view.screen.line(f"Cluster {session.namespace}/{name} is gone.")
    finally:
        await live.close()
    return None


def _available(picture: Picture) -> bool:
    return picture.cluster.holds_now("Available") and not picture.cluster.metadata.deleting


async def _late(session: Session, name: str, timeout: float) -> str:
    """Explain why a cluster is not available after the time limit.

    An Available condition that is True was observed before the latest change of the Cluster.
    """
    from nagaya.api.cluster.pause import CONDITION as PAUSED
    from nagaya.cli.output.age import duration
    from nagaya.insight.picture.message import one_line

    cluster = await session.cluster(await session.kinds(), name)
    condition, paused = cluster.condition("Available"), cluster.condition(PAUSED)
    if condition is None or condition.status != "True":
        message = "" if condition is None else one_line(condition.message)
    elif paused is not None and paused.status == "True":
        message = f"it is paused ({one_line(paused.message)}), so its latest change was not reconciled"
    else:
        message = "its latest change was not reconciled yet"
    because = f": {message.rstrip('.')}" if message else ""
    return f"Cluster {name} is not available after {duration(timeout)}{because}."
