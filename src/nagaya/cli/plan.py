"""`nagaya plan`: what applying manifests would do, before it is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from nagaya.cli.manifest_files import texts
from nagaya.cli.output.document import output_option
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.insight.foresight.forecast import Forecast
    from nagaya.insight.foresight.rehearsal import Manifest


@click.command()
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file, a folder with the files in it, or - for standard input. May be given several times.",
)
@click.option("-R", "--recursive", is_flag=True, help="Folders in folders, too.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="The least doubt that makes the exit code 1.",
)
@click.option("--detailed-exit-code", "detailed", is_flag=True, help="End with 8 if something would change.")
@output_option
@management_options
def plan(
    sources: tuple[str, ...],
    recursive: bool,
    fail_on: str,
    detailed: bool,
    output: str | None,
    management: Management,
) -> None:
    """Show what applying manifests would do: objects, machines in order, hosts, room, and what would go wrong.

    Each object is sent to the management API as a dry run of `kubectl apply --server-side`. Then the controllers' own
    planners play the rollout to its end, and the placement of the Proxmox provider says where machines would land, with
    what the hosts have now. Nothing is changed. It is assumed that machines come up and that nobody else changes
    anything meanwhile.

    Exit codes: 0 it can be applied, 1 something would be refused, not fit or stand still (see --fail-on), 2 a command
    line or a file that cannot be understood. With --detailed-exit-code: 0 nothing would change, 8 something would.

    \b
    Examples:
      nagaya plan -f cluster.yaml
      nagaya plan -f manifests/ -R --fail-on warning
      kustomize build . | nagaya plan -f - --detailed-exit-code
      nagaya plan -f cluster.yaml -o json
    """
    manifests = _read(sources, recursive)

    async def work(session: Session) -> int | None:
        from nagaya.cli.output.document import printed
        from nagaya.cli.output.screen import Screen
        from nagaya.cli.programs_beside import absent_beside
        from nagaya.insight.foresight.forecast import foresee

        kinds, absent = await session.kinds(), await absent_beside(session.client)
        found = await foresee(session.client, session.world, kinds, manifests, session.namespace, absent=absent)
        screen = Screen()
        if output is not None:
            screen.text(printed(found.document(), output))
        else:
            from nagaya.cli.output.forecast import told

            for line, style in told(found, screen.console.width if screen.terminal else None):
                screen.line(line, style)
        return _code(found, fail_on, detailed)

    run(management, work)


def _code(found: Forecast, fail_on: str, detailed: bool) -> int:
    worst = found.worst()
    if worst is not None and (str(worst) == "error" or fail_on == "warning") and fail_on != "never":
        return int(ExitCode.PROBLEM)
    return int(ExitCode.CHANGES if detailed and found.changing else ExitCode.FINE)


def _read(sources: tuple[str, ...], recursive: bool) -> list[Manifest]:
    from nagaya.api.conversion import manifests as documents
    from nagaya.insight.foresight.rehearsal import Manifest

    try:
        found = [
            Manifest(each, name, number)
            for source in sources
            for name, content in texts(source, recursive=recursive)
            for number, each in enumerate(documents.read(content, name), 1)
        ]
    except documents.ManifestError as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"{error.filename} cannot be read: {error.strerror}.")
    if not found:
        folders = any(Path(each).is_dir() for each in sources)
        hint = " Folders in it are read only with -R." if folders and not recursive else ""
        _stop(f"There is no object in {', '.join(sources)}: it is empty, or has only comments.{hint}")
    return found


def _stop(sentence: str) -> NoReturn:
    from nagaya.cli.output.screen import note

    note(f"Error: {sentence}")
    raise SystemExit(int(ExitCode.USAGE))
