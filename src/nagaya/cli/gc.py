"""`nagaya gc`: remove what is left of things that are gone, if it is provably ours, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from nagaya.cli.output.document import output_option, printed
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.paragraphs import indented
from nagaya.cli.output.prompt import agree
from nagaya.cli.output.screen import Screen, note
from nagaya.cli.output.session import Management, Session, api_options, run

if TYPE_CHECKING:
    from nagaya.clusters.leftovers import Untouched
    from nagaya.infrastructure.proxmox.connection.opening import Opener
    from nagaya.insight.leftovers.gathering import Leftovers
    from nagaya.kube.client import Client


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list what there is, each with the proof that it is ours.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@output_option
@api_options
def gc(dry_run: bool, yes: bool, output: str | None, management: Management) -> None:
    """Remove leftovers: VMs, disks, boot images, HA resources, reserved VMIDs and addresses whose owner is gone.

    Only what is provably this management API's is removed: a VM by the reservation of its VMID, whose machine was
    deleted here, and by its marker, which names this management API, its name and pool, all read again right before.
    What only might be ours is listed as not touched, with the reason. A VM that was moved to another management API
    belongs to that. It asks before it begins; interrupt it anywhere and run it again.

    Exit codes: 0 nothing is left, or all was removed or listed; 1 something could not be removed; 3 you said no;
    7 something could not be looked at, such as a host that is off, and may have more.

    \b
    Examples:
      nagaya gc --dry-run
      nagaya gc --yes
      nagaya gc --dry-run -o json
    """

    async def work(session: Session) -> int:
        return await _collect(session, dry_run, yes, output)

    run(management, work)


async def _collect(session: Session, dry_run: bool, yes: bool, output: str | None, open: Opener | None = None) -> int:
    from nagaya.insight.leftovers.gathering import gathered

    async with gathered(session.client, session.world, open) as found:
        screen = Screen()
        if output is None:
            _print(found, screen)
        failed: list[str] = []
        going = found.going()
        if going and not dry_run:
            if not yes:
                _ask(len(going))
            failed = await remove(session.client, found, note)
        if output is not None:
            click.echo(printed(_document(found, dry_run, failed), output), nl=False)
        else:
            _conclude(found, dry_run, failed, screen)
    if failed:
        return int(ExitCode.PROBLEM)
    waits = found.unseen() or any(each.waits for each in found.staying())
    return int(ExitCode.INCOMPLETE if waits else ExitCode.FINE)


def _ask(count: int) -> None:
    agree("Remove it?" if count == 1 else f"Remove these {count}?", nothing_done="Nothing was removed.")


async def remove(client: Client, found: Leftovers, tell: Callable[[str], None]) -> list[str]:
    """Remove what is ours, one after the other. What stays is returned, a sentence each."""
    from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
    from nagaya.infrastructure.proxmox.leftovers import apply
    from nagaya.ipam import leftovers as addresses
    from nagaya.kube.errors import ApiError

    failed: list[str] = []

    def stays(what: str) -> None:
        failed.append(what)
        tell(what)

    for place in found.places:
        for orphan in place.plan.orphans:
            try:
                await apply.remove(client, place.connected.proxmox, orphan.reservation, tell)
            except apply.Stays as error:
                stays(str(error))
            except (ProxmoxError, ApiError) as error:
                stays(f"ProxmoxVirtualMachine {orphan.reservation.metadata.name} stays for now: {error}")
    for each in found.addresses:
        try:
            tell(f"{each.leftover.what} is deleted.")
            if not await addresses.remove(client, each):
                tell(f"{each.leftover.what} goes when the controllers have taken its address back.")
        except ApiError as error:
            stays(f"{each.leftover.what} stays: {error}")
    return failed


def _print(found: Leftovers, screen: Screen) -> None:
    if going := found.going():
        screen.line("Provably ours, and needed by nothing:", "bold")
        for leftover in going:
            screen.line(f"  {leftover.what}", "cyan")
            screen.text(indented(f"{leftover.proof[:1].upper()}{leftover.proof[1:]}.", 4, screen))
    if staying := found.staying():
        screen.line("Not touched:", "bold")
        for each in staying:
            screen.line(f"  {each.what}", "yellow")
            screen.text(indented(each.why, 4, screen))
            if each.remedy:
                screen.line(f"    {each.remedy}", "green")
    if unseen := found.unseen():
        screen.line("Not looked at:", "bold")
        for sentence in unseen:
            screen.text(indented(sentence, 2, screen))


def _conclude(found: Leftovers, dry_run: bool, failed: list[str], screen: Screen) -> None:
    going = len(found.going())
    if not going:
        if found.unseen():
            screen.line("Found nothing to remove, but not everything could be looked at.", "bold yellow")
        else:
            screen.line("There is nothing to remove.", "bold green")
    elif dry_run:
        what = "one thing" if going == 1 else f"{going} things"
        screen.line(f"Nothing was removed: this was a dry run. `nagaya gc` removes {what}.", "bold")
    elif failed:
        screen.line(
            f"Not all could be removed: {len(failed)} of it stay. Run the same again when that is mended.", "bold"
        )
    else:
        screen.line("All of it was removed.", "bold green")


def _document(found: Leftovers, dry_run: bool, failed: list[str]) -> dict[str, Any]:
    return {
        "dryRun": dry_run,
        "leftovers": [{"what": each.what, "proof": each.proof} for each in found.going()],
        "notTouched": [_untouched(each) for each in found.staying()],
        "notLookedAt": found.unseen(),
        "failed": failed,
    }


def _untouched(each: Untouched) -> dict[str, Any]:
    return {"what": each.what, "why": each.why, "waits": each.waits, **({"remedy": each.remedy} if each.remedy else {})}
