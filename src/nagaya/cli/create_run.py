"""What `nagaya create cluster` does, in order: what is missing is asked for or found, everything is tried, the objects
are shown, somebody agrees, and only then anything is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from nagaya.blueprints.applying import NotCreated, Refused, Step, create, examine
from nagaya.blueprints.blueprint import blueprint
from nagaya.blueprints.manifest import Manifest
from nagaya.blueprints.wish import CONTROL_PLANES, HOSTED, INFRASTRUCTURES, PROXMOX, SIMULATED, Wish, problems
from nagaya.cli.output.document import printed_manifests
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.prompt import agree, ask, can_ask
from nagaya.cli.output.screen import Screen, note
from nagaya.cli.output.session import Management, Session, run
from nagaya.cli.output.table import Cell, Table
from nagaya.cli.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKERS: Final = 2


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says."""

    name: str
    infrastructure: str | None = None
    control_plane: str | None = None
    workers: int | None = None
    control_planes: int | None = None
    version: str | None = None
    connection: str = ""
    dhcp: bool = False
    pool: str = ""
    addresses: str = ""
    gateway: str = ""
    prefix: int = 24
    dns: str = ""
    endpoint: str = ""
    endpoint_pool: str = ""
    bridge: str = ""
    cores: int = 2
    memory: int = 4096
    disk: int = 20
    template_tags: str = ""
    image: str = ""
    output: str | None = None
    dry_run: bool = False
    yes: bool = False

    @property
    def of_proxmox(self) -> list[str]:
        """The options that were given and mean nothing elsewhere."""
        usual = Given(self.name)
        names = ("connection", "dhcp", "pool", "addresses", "gateway", "prefix", "dns", "endpoint", "endpoint_pool")
        more = ("bridge", "cores", "memory", "disk", "template_tags", "image")
        options = {"template_tags": "--template-tag"}
        different = [name for name in (*names, *more) if getattr(self, name) != getattr(usual, name)]
        return [options.get(name, f"--{name.replace('_', '-')}") for name in different]


def create_cluster(management: Management, given: Given) -> None:
    """Do it, to its end."""
    given = _completed(given)
    if given.infrastructure == SIMULATED and given.of_proxmox:
        raise click.UsageError(f"Simulated machines know nothing of {', '.join(given.of_proxmox)}: leave that out.")
    if given.output is not None and given.infrastructure == SIMULATED:
        # Nothing has to be known for this, so no management API is needed either.
        drafted = blueprint(_checked(_wish(given, management.namespace or "default")))
        Screen().text(printed_manifests(drafted, given.output))
        return

    async def work(session: Session) -> int | None:
        try:
            return await _work(session, given)
        except NotCreated as error:
            raise Ended(str(error)) from error
        except Refused as error:
            raise Ended(f"{error} Nothing was made.") from error

    run(management, work)


def _completed(given: Given) -> Given:
    """With what has to be known before anything else. Raises UsageError where nobody can be asked."""
    missing = [
        option
        for option, value in (("--infrastructure", given.infrastructure), ("--control-plane", given.control_plane))
        if value is None
    ]
    if not can_ask():
        if missing:
            choices = {"--infrastructure": "|".join(INFRASTRUCTURES), "--control-plane": "|".join(CONTROL_PLANES)}
            named = " and ".join(f"{each} {choices[each]}" for each in missing)
            raise click.UsageError(f"{named} must be given: nobody can be asked here.")
        return replace(given, workers=WORKERS if given.workers is None else given.workers)
    infrastructure, control_plane, workers = given.infrastructure, given.control_plane, given.workers
    if infrastructure is None:
        infrastructure = _choose("Where are its machines", INFRASTRUCTURES)
    if control_plane is None:
        control_plane = _choose("Where is its API: hosted, beside Nagaya, or on machines, by kubeadm", CONTROL_PLANES)
    if workers is None and missing:
        workers = ask("How many workers", type=click.IntRange(0, 1000), default=WORKERS)
    workers = WORKERS if workers is None else workers
    return replace(given, infrastructure=infrastructure, control_plane=control_plane, workers=workers)


def _choose(question: str, choices: Sequence[str]) -> str:
    return str(ask(question, type=click.Choice(choices)))


def _wish(given: Given, namespace: str) -> Wish:
    from nagaya.binaries.errors import UnknownRequest
    from nagaya.binaries.releases import DEFAULT_VERSION, Release

    try:
        version = Release.parse(given.version or DEFAULT_VERSION).kubernetes
    except UnknownRequest as error:
        raise click.BadParameter(str(error), param_hint="--version") from error
    assert given.infrastructure is not None
    assert given.control_plane is not None
    return Wish(
        given.name,
        namespace,
        version,
        given.infrastructure,
        given.control_plane,
        given.control_planes or 1,
        WORKERS if given.workers is None else given.workers,
    )


def _checked(wish: Wish) -> Wish:
    found = problems(wish)
    if found:
        raise click.UsageError("\n".join(found))
    return wish


async def _work(session: Session, given: Given) -> int | None:
    wish = _wish(given, session.namespace)
    if given.infrastructure == PROXMOX:
        from nagaya.cli.create_proxmox import completed

        wish = await completed(session, given, wish)
    _checked(wish)
    drafted = blueprint(wish)
    if given.output is not None:
        Screen().text(printed_manifests(drafted, given.output))
        return None
    steps = await examine(session.client, drafted)
    _show(wish, steps)
    _refuse_another(wish, steps)
    left = [each for each in steps if not each.exists]
    fits = not left or await _foretell(session, drafted)
    if given.dry_run:
        ending = "." if fits else ", but it would not come to a good end: see the errors above."
        note(f"Nothing was made (--dry-run): the management API would take all of it{ending}")
        return None if fits else int(ExitCode.PROBLEM)
    if not left:
        note("Nothing to do: all of it is there.")
    else:
        if not given.yes:
            what = "this object" if len(left) == 1 else f"these {len(left)} objects"
            question = (
                f"Make {what}?" if fits else f"It would not come to a good end as things are. Make {what} anyway?"
            )
            agree(question, default=fits, nothing_done="Nothing was made.")
        await _create(session, left)
    where = "" if wish.namespace == session.default_namespace else f" -n {wish.namespace}"
    note(f"Watch it come up:\n  nagaya describe cluster {wish.name}{where} --watch")
    return None


async def _create(session: Session, steps: Sequence[Step]) -> None:
    """Create the objects. Ctrl-C, SIGTERM and a closed terminal roll back; a second signal ends the roll-back."""
    if await Signals().until(create(session.client, steps)):
        raise Ended("Nothing was made.", ExitCode.INTERRUPTED)


async def _foretell(session: Session, drafted: list[Manifest]) -> bool:
    """Show what would become of the machines, as `nagaya plan` does. Returns whether it would come to a good end."""
    from nagaya.cli.output.forecast import told_of_machines
    from nagaya.cli.programs_beside import absent_beside
    from nagaya.insight.foresight.doubts import Severity
    from nagaya.insight.foresight.forecast import foresee
    from nagaya.insight.foresight.rehearsal import Manifest as Rehearsed
    from nagaya.kube.errors import Forbidden

    screen = Screen()
    try:
        rehearsed = [Rehearsed(each, "this command") for each in drafted]
        kinds, absent = await session.kinds(), await absent_beside(session.client)
        found = await foresee(session.client, session.world, kinds, rehearsed, session.namespace, absent=absent)
    except Forbidden as error:
        # Whoever may make a cluster need not be allowed to see all that a plan looks at.
        note(f"Where its machines would go is not known: {str(error).rstrip('.')}.")
        return True
    screen.line("")
    for line, style in told_of_machines(found, screen.console.width if screen.terminal else None):
        screen.line(line, style)
    return found.worst() is not Severity.ERROR


def _show(wish: Wish, steps: Sequence[Step]) -> None:
    screen, table = Screen(), Table(("", "KIND", "NAME"))
    planes = f"{wish.control_planes} replica" if wish.control_plane == HOSTED else f"{wish.control_planes} machine"
    plural = "" if wish.control_planes == 1 else "s"
    workers = "1 worker" if wish.workers == 1 else f"{wish.workers} workers"
    on = "simulated machines: nothing will run in it" if wish.proxmox is None else "Proxmox VE"
    screen.line(
        f"Cluster {wish.namespace}/{wish.name}: Kubernetes {wish.version}, control plane {wish.control_plane} with "
        f"{planes}{plural}, {workers}, on {on}."
    )
    for step in steps:
        word = "differs" if step.difference else "there" if step.exists else "create"
        style = {"differs": "red", "create": "green"}.get(word, "")
        table.add(Cell(word, style), Cell(step.kind.kind), Cell(step.name))
    screen.table(table)


def _refuse_another(wish: Wish, steps: Sequence[Step]) -> None:
    other = [each for each in steps if each.difference]
    if not other:
        return
    lines = "\n".join(f"  {each.kind.kind} {each.name}: {each.difference}" for each in other)
    raise Ended(
        f"Cluster {wish.namespace}/{wish.name} is there already, and is another one:\n{lines}\nNothing was changed. "
        "Choose another name, or change what is there: the same command with -o yaml prints what you asked for, for "
        "kubectl apply --server-side."
    )
