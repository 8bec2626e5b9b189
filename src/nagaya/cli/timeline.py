"""`nagaya timeline`: what happened to a cluster or a machine, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from nagaya.cli.output.document import output_option
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.length import read_moment
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from nagaya.cli.output.screen import Screen
    from nagaya.insight.picture.kinds import Kinds
    from nagaya.insight.picture.member import Member
    from nagaya.insight.picture.picture import Picture
    from nagaya.insight.story.line import Line


@click.command()
@click.argument("name")
@click.option("-f", "--follow", is_flag=True, help="Go on telling as things happen, until Ctrl-C.")
@click.option("--since", callback=read_moment, metavar="MOMENT", help="Only from then on: 10m, 2h, or a date.")
@click.option("--logs", is_flag=True, help="Ask Proxmox VE how its tasks ended, with the last lines of their logs.")
@output_option
@management_options
def timeline(
    name: str,
    follow: bool,
    since: timedelta | datetime | None,
    logs: bool,
    output: str | None,
    management: Management,
) -> None:
    """Tell what happened to the cluster or machine NAME: conditions, Events, tasks of Proxmox VE, in order.

    NAME is that of a Cluster, or else of a Machine; cluster/NAME and machine/NAME say which. Conditions are told with
    their last change only; the API keeps Events for an hour. Times are in UTC. With --follow, -o json prints a line for
    each thing that happens.

    \b
    Examples:
      nagaya timeline demo
      nagaya timeline demo --since 10m --follow
      nagaya timeline machine/demo-workers-x7k2p --logs
      nagaya timeline demo -o json
    """

    async def work(session: Session) -> int | None:
        moment = session.world.clock.now() - since if isinstance(since, timedelta) else since
        kinds = await session.kinds()
        cluster, machine = await _meant(session, kinds, name)
        teller = _Teller(session, machine, moment, logs, output)
        if follow:
            await _follow(session, kinds, cluster, teller)
        else:
            from nagaya.insight.picture.read import read_picture

            await teller.all(await read_picture(session.client, kinds, cluster, events=True))
        return None

    run(management, work)


async def _meant(session: Session, kinds: Kinds, name: str) -> tuple[Member, str]:
    """The Cluster, and the Machine of it if one is meant."""
    from nagaya.insight.picture.member import member
    from nagaya.insight.picture.search import not_found
    from nagaya.kube.errors import NotFound
    from nagaya.kube.key import Key

    kind, _, rest = name.rpartition("/")
    if kind.lower() not in ("", "cluster", "machine"):
        raise Ended(f"{name} is neither cluster/NAME nor machine/NAME.")
    if kind.lower() != "machine":
        try:
            return await session.cluster(kinds, rest), ""
        except Ended as unknown:
            if kind:
                raise
            nowhere = unknown
    machines = kinds.get("cluster.x-k8s.io", "Machine")
    if machines is None:
        raise Ended("The API knows no Machines.")
    try:
        found = member(await session.client.get(machines.kind, session.namespace, rest), machines.contract)
    except NotFound:
        if not kind:
            raise nowhere from None
        there = (await session.client.list(machines.kind, session.namespace)).items
        keys = [Key.of(each) for each in there]
        raise Ended(not_found(Key(session.namespace, rest), keys, what="Machine")) from None
    return await session.cluster(kinds, found.text("spec", "clusterName")), rest


async def _follow(session: Session, kinds: Kinds, cluster: Member, teller: _Teller) -> None:
    from nagaya.insight.picture.live import Live
    from nagaya.kube.key import Key

    live = Live(session.client, session.world, kinds, Key.of(cluster), events=True)
    try:
        await live.start()
        while (picture := await live.picture()) is not None:
            await teller.new(picture)
            await live.changed()
    finally:
        await live.close()
    if teller.output is None:
        teller.screen.line(f"Cluster {cluster.namespace}/{cluster.name} is gone.")


class _Teller:
    """Prints lines, each once."""

    def __init__(self, session: Session, machine: str, since: datetime | None, logs: bool, output: str | None) -> None:
        from nagaya.cli.output.screen import Screen

        self.screen: Screen = Screen()
        self.output = output
        self._session = session
        self._machine = machine
        self._since = since
        self._logs = logs
        self._told: set[Hashable] = set()

    async def all(self, picture: Picture) -> None:
        """The whole story."""
        from nagaya.cli.output.document import printed
        from nagaya.cli.output.screen import note

        lines = await self._lines(picture)
        if self.output is not None:
            self.screen.text(printed([each.document() for each in lines], self.output))
        else:
            self._print(lines)
            if not lines:
                note("Nothing happened in this time.")
        self._note(picture)

    async def new(self, picture: Picture) -> None:
        """What has not been told yet."""
        from nagaya.cli.output.document import streamed

        self._note(picture)
        lines = [each for each in await self._lines(picture) if each.identity not in self._told]
        self._told.update(each.identity for each in lines)
        if self.output is None:
            self._print(lines)
            return
        for each in lines:
            self.screen.text(streamed(each.document(), self.output))

    async def _lines(self, picture: Picture) -> tuple[Line, ...]:
        from nagaya.insight.story.story import story
        from nagaya.insight.story.tasks import tasks

        told = {}
        if self._logs:
            from nagaya.insight.story.asking import ask

            told = await ask(self._session.client, self._session.world, picture, tasks(picture))
        return story(picture, machine=self._machine, since=self._since, told=told)

    def _note(self, picture: Picture) -> None:
        from nagaya.cli.output.screen import note

        for each in picture.unread:
            if each not in self._told:
                self._told.add(each)
                note(f"Not told: {each.rstrip('.')}.")

    def _print(self, lines: Iterable[Line]) -> None:
        for each in lines:
            date = each.at.astimezone(UTC)
            self.screen.line(f"{date:%Y-%m-%d %H:%M:%S}  {each.subject}: {each.what}", "yellow" if each.warning else "")
            for line in each.log:
                self.screen.line(f"{'':21}| {line}", "bright_black")
