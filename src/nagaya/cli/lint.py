"""`nagaya lint`: would a cloud controller manager, a pod network and their friends ever get scheduled?"""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.manifest_files import texts
from nagaya.cli.output.document import output_option, printed
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.screen import Screen, note
from nagaya.cli.output.session import Management, Session, management_options, run

if TYPE_CHECKING:
    from nagaya.cloud.lint.finding import Finding
    from nagaya.cloud.lint.manifests import Manifests
    from nagaya.cloud.lint.report import Report

_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_LABEL: Final = 8
"""How wide the words at, why and fix are, with the space around them."""


@click.command()
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    metavar="FILE",
    help="A file, a folder with all that is in it, or - for standard input. May be given several times.",
)
@click.option("--cluster", metavar="NAME", help="A running tenant, read through its kubeconfig in the management API.")
@management_options
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    default="error",
    show_default=True,
    help="The least that makes the exit code 1.",
)
@click.option("--explain", metavar="CHECK", help="Say what a check is about, such as L7, or `all`; then end.")
@output_option
def lint(
    sources: tuple[str, ...],
    cluster: str | None,
    management: Management,
    fail_on: str,
    explain: str | None,
    output: str | None,
) -> None:
    """Find bootstrap deadlocks: nodes that wait for pods that wait for nodes.

    Give it all that starts a cluster at once: the cloud controller manager with its RBAC and configuration, the pod
    network, and the KubeadmControlPlane and KubeadmConfigTemplates (or kubeadm's files). Each finding says which taint
    or which field, why it stands still, and the lines that mend it. Nothing is changed.

    Exit codes: 0 nothing as bad as --fail-on, 1 something is, or a cluster could not be read, 2 a command line or a
    file that cannot be understood.

    \b
    Examples:
      nagaya lint -f ccm.yaml -f cilium.yaml -f cluster.yaml
      helm template ccm chart/ | nagaya lint -f - -o json
      nagaya lint --cluster demo --fail-on warning
      nagaya lint --explain L2
    """
    if explain is not None:
        _explain(explain, output)
        return
    if bool(sources) == bool(cluster):
        raise click.UsageError("Name either manifests with -f FILE, or a running tenant with --cluster NAME.")
    if not cluster:
        sys.exit(_finish(_of_files(sources), fail_on, output))

    async def work(session: Session) -> int:
        return _finish(await _of_cluster(session, cluster), fail_on, output)

    run(management, work)


def _finish(manifests: Manifests, fail_on: str, output: str | None) -> int:
    from nagaya.cloud.lint.finding import Severity
    from nagaya.cloud.lint.report import lint as look

    report = look(manifests)
    if output is None:
        _print(report, Screen())
    else:
        click.echo(printed(_content(report), output), nl=False)
    worst = report.worst()
    bad = fail_on != "never" and worst is not None and worst.rank >= Severity(fail_on).rank
    return int(ExitCode.PROBLEM if bad else ExitCode.FINE)


def _of_files(sources: tuple[str, ...]) -> Manifests:
    from nagaya.api.conversion import manifests as documents
    from nagaya.cloud.lint.manifest import Manifest
    from nagaya.cloud.lint.manifests import Manifests

    try:
        return Manifests(
            Manifest(each, name)
            for source in sources
            for name, content in texts(source, recursive=True)
            for each in documents.read(content, name)
        )
    except documents.ManifestError as error:
        note(f"Error: {error}")
    except OSError as error:
        note(f"Error: {error.filename} cannot be read: {error.strerror}.")
    raise SystemExit(int(ExitCode.USAGE))


async def _of_cluster(session: Session, cluster: str) -> Manifests:
    """The manifests of a tenant: from the management API, and from the tenant's own. Raises Ended."""
    from nagaya.cloud.lint import living
    from nagaya.cloud.lint.manifests import Manifests
    from nagaya.kube.client import Client
    from nagaya.kube.errors import ApiError
    from nagaya.kube.http import HttpTransport
    from nagaya.kube.transport import NoAnswer

    try:
        way = await living.tenant_connection(session.client, session.namespace, cluster)
    except living.NotReadable as error:
        raise Ended(str(error)) from error
    above = await living.of_management(session.client, session.namespace, cluster)
    tenant = Client(HttpTransport(way, world=session.world), world=session.world)
    try:
        below = await living.of_tenant(tenant)
    except (ApiError, NoAnswer) as error:
        raise Ended(
            f"The API server of cluster {cluster} at {way.server} cannot be read: {error}. "
            f"Look at the cluster with `nagaya describe cluster {cluster}`."
        ) from error
    finally:
        await tenant.close()
    refused = [*above.refused, *below.refused]
    for each in refused:
        note(f"Not read: {each}")
    return Manifests([*above.objects, *below.objects], complete=not refused)


def _explain(identifier: str, output: str | None) -> None:
    from nagaya.cloud.lint.catalog import CHECKS, check_of

    found = check_of(identifier)
    if found is None and identifier != "all":
        raise click.UsageError(f"There is no check {identifier}: there are {', '.join(each.id for each in CHECKS)}.")
    screen, checks = Screen(), CHECKS if found is None else (found,)
    if output is not None:
        told = [
            {"check": each.id, "title": each.title, "worst": str(each.worst), "lesson": each.lesson} for each in checks
        ]
        screen.text(printed(told, output))
        return
    for each in checks:
        screen.line(f"{each.id}: {each.title} (at worst: {each.worst})", "bold")
        screen.text(f"\n{each.lesson}\n\n")


def _print(report: Report, screen: Screen) -> None:
    from nagaya.cloud.lint.finding import Severity

    for each in report.findings:
        _print_finding(each, screen)
    looked_at = ", ".join(report.looked_at) or "no cloud controller manager and no pod network"
    ignored = f", {report.ignored} of kinds that do not matter here" if report.ignored else ""
    screen.line(f"Looked at {looked_at} ({_count(report.objects, 'object')}{ignored}).")
    if report.unseen:
        screen.line(f"Not in the set: {'; '.join(report.unseen)}.")
    counts = [(severity, sum(each.severity is severity for each in report.findings)) for severity in Severity]
    said = ", ".join(_count(number, str(severity)) for severity, number in counts if number and severity != "info")
    if said:
        screen.line(f"Found {said}.", _STYLES[report.findings[0].severity])
    elif report.looked_at:
        screen.line("Found nothing that would keep the cluster from starting.", "bold green")
    else:
        screen.line("So there was little to judge: give it all that starts the cluster at once.")


def _print_finding(each: Finding, screen: Screen) -> None:
    source = f"  ({each.source})" if each.source else ""
    screen.line(f"{each.severity} {each.check}  {each.object}{source}", _STYLES[each.severity])
    _labelled("at", [f"{each.path} ({each.subject})"], screen)
    # A pipe has no width: there each sentence stays in its line.
    wide = screen.console.width - _LABEL if screen.terminal else sys.maxsize
    _labelled("why", textwrap.wrap(each.why, max(wide, 30), break_on_hyphens=False), screen)
    _labelled("fix", each.fix.splitlines(), screen, "green")
    screen.line("")


def _labelled(label: str, lines: list[str], screen: Screen, style: str = "") -> None:
    for number, line in enumerate(lines):
        screen.line(f"{f'  {label}' if number == 0 else '':<{_LABEL}}{line}", style)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _content(report: Report) -> dict[str, Any]:
    return {
        "findings": [
            {
                "check": each.check,
                "severity": str(each.severity),
                "object": each.object,
                "source": each.source,
                "path": each.path,
                "subject": each.subject,
                "why": each.why,
                "fix": each.fix,
            }
            for each in report.findings
        ],
        "lookedAt": list(report.looked_at),
        "notInTheSet": list(report.unseen),
        "objects": report.objects,
        "ignored": report.ignored,
    }
