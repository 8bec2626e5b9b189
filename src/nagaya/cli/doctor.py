"""`nagaya doctor`: an examination of everything that a management API leads to, with what to do about each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.document import output_option, printed
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.paragraphs import indented
from nagaya.cli.output.screen import Screen
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.insight.checkup.finding import Finding

_MARKS: Final = {"ok": "ok", "warning": "warning", "problem": "PROBLEM", "not checked": "unknown"}
_STYLES: Final = {"ok": "green", "warning": "bold yellow", "problem": "bold red", "not checked": "bold cyan"}
_MARK: Final = 9
"""Columns of the marks, with the space after them."""


@click.command()
@click.option("--cluster", metavar="NAME", help="Only this cluster, and the Proxmox VE that it is on.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Clusters and connections of all namespaces.")
@output_option
@management_options
def doctor(cluster: str | None, all_namespaces: bool, output: str | None, management: Management) -> None:
    """Examine the management API and all that it leads to: controllers, Proxmox VE, clusters, addresses, leftovers.

    Each finding says how it stands (ok, warning, PROBLEM, or unknown if it could not be looked at), by what that is
    known, and the command that mends it. Nothing is changed. What does not answer is told, and delays nothing else.

    Exit codes: 0 no problem, warnings or not; 1 a problem was found, or the management API does not answer; 2 a command
    line that is not understood.

    \b
    Examples:
      nagaya doctor
      nagaya doctor -A
      nagaya doctor --cluster demo -n team-a
      nagaya doctor -o json
    """
    if cluster and all_namespaces:
        raise click.UsageError("Name a cluster with --cluster, or look at all namespaces with -A.")

    async def work(session: Session) -> int:
        from nagaya.insight.checkup.checkup import Scope, examine
        from nagaya.insight.checkup.finding import Standing, worst

        if cluster:
            await session.cluster(await session.kinds(), cluster)
        scope = Scope("" if all_namespaces else session.namespace, cluster or "")
        found = await examine(session.client, session.server, session.world, scope)
        if output is not None:
            click.echo(printed(_document(found), output), nl=False)
        else:
            _print(found, Screen(), f" (namespace {scope.namespace}; -A looks at all)" if scope.namespace else "")
        return int(ExitCode.PROBLEM if worst(found) is Standing.PROBLEM else ExitCode.FINE)

    run(management, work)


def _print(found: list[Finding], screen: Screen, where: str = "") -> None:
    subjects = dict.fromkeys(each.subject for each in found)
    for subject in subjects:
        screen.line(subject, "bold")
        for each in found:
            if each.subject == subject:
                _print_finding(each, screen)
        screen.line("")
    counts = {mark: sum(each.standing == mark for each in found) for mark in _MARKS}
    bad = " and ".join(_count(counts[each], each) for each in ("problem", "warning") if counts[each]) or "nothing wrong"
    unknown = f" {_count(counts['not checked'], 'thing')} could not be checked." if counts["not checked"] else ""
    style = _STYLES["problem" if counts["problem"] else "warning" if counts["warning"] else "ok"]
    screen.line(f"Found {bad}{where}; {_count(counts['ok'], 'check')} went well.{unknown}", style)


def _print_finding(each: Finding, screen: Screen) -> None:
    text = indented(f"{each.check}: {each.evidence}", _MARK + 2, screen)
    first, _, rest = text[_MARK + 2 :].partition("\n")
    mark = f"  {_MARKS[each.standing]:<{_MARK}}"
    if screen.terminal:
        from rich.text import Text

        screen.console.print(Text.assemble((mark, _STYLES[each.standing]), first), soft_wrap=True)
    else:
        screen.line(f"{mark}{first}")
    if rest:
        screen.text(rest)
    for remedy in each.remedy:
        screen.line(f"{' ' * (_MARK + 2)}-> {remedy}", "green")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _document(found: list[Finding]) -> dict[str, Any]:
    from nagaya.insight.checkup.finding import worst

    return {
        "status": str(worst(found)),
        "findings": [
            {
                "subject": each.subject,
                "check": each.check,
                "status": str(each.standing),
                "evidence": each.evidence,
                "remedy": list(each.remedy),
            }
            for each in found
        ],
    }
