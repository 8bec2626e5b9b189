"""`nagaya why`: the causal chain from an object to the deepest cause that is known, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nagaya.cli.output.document import output_option
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.insight.cause.explanation import Explanation


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME")
@click.option(
    "--logs/--no-logs", default=True, help="Ask Proxmox VE how tasks that are to blame ended.  [default: logs]"
)
@output_option
@management_options
def why(words: tuple[str, ...], logs: bool, output: str | None, management: Management) -> None:
    """Say why an object is as it is: what is wrong, because of what, how that is known, and what to do.

    KIND is any kind of Cluster API, of Nagaya or of another provider, as kubectl takes it: machine, machines, ma. A
    name alone is that of a Cluster. The chain goes from the object over what it stands on to the deepest cause that
    is known; causes that are equal are told once, the most important first. Nothing is changed.

    Exit codes: 0 nothing is wrong, or what is missing is on its way; 1 something is wrong, or there is no such object.

    \b
    Examples:
      nagaya why cluster/demo
      nagaya why demo
      nagaya why machine/demo-workers-x7k2p -n team-a
      nagaya why md/demo-workers -o json
      nagaya why proxmoxconnection/pve
    """
    kind, name = _parts(words)

    async def work(session: Session) -> int | None:
        from nagaya.cli.output.document import printed
        from nagaya.cli.output.screen import Screen, note
        from nagaya.insight.cause.cause import Weight
        from nagaya.insight.cause.explanation import explain
        from nagaya.insight.cause.read import NotMeant, read_subject, read_surroundings, with_logs

        kinds = await session.kinds()
        try:
            subject = await read_subject(session.client, kinds, kind, session.namespace, name)
        except NotMeant as error:
            raise Ended(str(error)) from None
        around = await read_surroundings(session.client, kinds, subject, session.world.clock.now())
        found = explain(around, subject)
        if logs:
            around = await with_logs(session.client, session.world, around, found.tasks)
            found = explain(around, subject)
        screen = Screen()
        if output is not None:
            screen.text(printed(found.document(), output))
        else:
            from nagaya.cli.output.explanation import told

            for line, style in told(found, around.now, screen.console.width if screen.terminal else None):
                screen.line(line, style)
        for each in around.picture.unread:
            note(f"Not looked at: {each.rstrip('.')}.")
        bad = not found.well and any(each.weight is not Weight.WORKING for each in found.causes or ())
        return int(ExitCode.PROBLEM if bad or _unexplained(found) else ExitCode.FINE)

    run(management, work)


def _parts(words: tuple[str, ...]) -> tuple[str, str]:
    """Kind and name, as `kind/name`, as two words, or a name alone."""
    if len(words) == 1:
        kind, slash, name = words[0].partition("/")
        kind, name = (kind, name) if slash else ("cluster", words[0])
    elif len(words) == 2 and "/" not in "".join(words):
        kind, name = words
    else:
        raise click.UsageError("Name one object: KIND/NAME, for example machine/demo-workers-x7k2p.")
    if not kind or not name or "/" in name:
        raise click.UsageError(f"{' '.join(words)!r} is no KIND/NAME: write for example machine/demo-workers-x7k2p.")
    return kind, name


def _unexplained(found: Explanation) -> bool:
    return not found.well and not found.causes
