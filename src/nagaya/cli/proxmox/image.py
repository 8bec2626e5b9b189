"""`nagaya proxmox image`: templates from images, without Packer and without SSH. Parses, calls the package, prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.document import manifests_option, output_option, printed_manifests
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.prompt import agree
from nagaya.cli.proxmox.failure import finish
from nagaya.cli.proxmox.image_session import Given, Session, Teller, in_session, show, way_options
from nagaya.foreign_text import escape_line

if TYPE_CHECKING:
    from nagaya.infrastructure.proxmox.image.image import Image
    from nagaya.infrastructure.proxmox.image.plan import Plan
    from nagaya.infrastructure.proxmox.image.removal import Removal
    from nagaya.infrastructure.proxmox.image.seen import Template
    from nagaya.infrastructure.proxmox.image.users import Users
    from nagaya.infrastructure.proxmox.image.wanted import Wanted
    from nagaya.infrastructure.proxmox.image.way import Way
    from nagaya.infrastructure.proxmox.privileges.held import Held

_DISTRIBUTIONS: Final = ("debian-13", "debian-12", "ubuntu-26.04", "ubuntu-24.04")


class _Images(click.Group):
    """Knows `create`, which people type too, as another word for `add`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, "add" if cmd_name == "create" else cmd_name)


@click.group(cls=_Images)
def image() -> None:
    """Bring images to Proxmox VE as templates, and keep them in order.

    \b
    Examples:
      nagaya proxmox image add --distribution debian-13 --storage local-lvm
      nagaya proxmox image list
      nagaya proxmox image prune --keep 2 --dry-run
    """


@image.command()
@click.option(
    "--distribution", type=click.Choice(_DISTRIBUTIONS), help="A plain cloud image: Kubernetes is installed at boot."
)
@click.option("--url", default="", metavar="URL", help="Any image (qcow2, raw, vmdk) that the hosts can download.")
@click.option(
    "--checksum",
    default="",
    metavar="SHA",
    help="What the image has to be: sha256:... or sha512:...  [default: as published beside the image]",
)
@click.option("--format", "format_", type=click.Choice(["qcow2", "raw", "vmdk"]), help="[default: by the file's name]")
@click.option("--origin", default="", metavar="TAG", help="The tag of the templates.  [default: by the file's name]")
@click.option(
    "--kubernetes", default="", metavar="VERSION", help="The version that is in the image (with --url): another tag."
)
@click.option("--storage", default="", metavar="NAME", help="For disks.  [default: the connection's, or the only one]")
@click.option(
    "--import-storage", default="", metavar="NAME", help="For downloads.  [default: one with the content type import]"
)
@click.option("--enable-import", is_flag=True, help="If no storage takes images, let one do so.")
@click.option("--hosts", default="", metavar="NAME[,NAME...]", help="[default: all that have the storage]")
@click.option("--pool", default=None, metavar="NAME", help="The pool of the templates.  [default: the connection's]")
@click.option("--vmid-range", default="9000-9999", show_default=True, metavar="FIRST-LAST", help="For new templates.")
@click.option("--bridge", default="", metavar="NAME", help="[default: the connection's, or vmbr0]")
@click.option("--cpu", default="x86-64-v2-AES", show_default=True, metavar="TYPE", help="The CPU type.")
@click.option("--keep-file", is_flag=True, help="Do not remove the downloaded file when the templates are there.")
@click.option("--no-verify-certificate", is_flag=True, help="Let hosts download from a server that they do not trust.")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@output_option
@way_options
def add(way: Given, output: str | None, dry_run: bool, **asked: Any) -> None:
    """Make templates from an image, on every host that needs one.

    Hosts download the image themselves, compare it with its checksum, and import it. Where storages are local each host
    gets a template; where all hosts see the disks, one is enough. Run it again: what is there stays, what is missing or
    unfinished is done.

    \b
    Examples:
      nagaya proxmox image add --distribution debian-13 --storage local-lvm --dry-run
      nagaya proxmox image add --url https://images.example/ubuntu-2404-kube-v1.36.3.qcow2 \\
          --origin ubuntu-24.04 --kubernetes v1.36.3 --storage ceph
    """
    _check_usage(asked)
    finish(in_session(way, lambda session: _add(session, asked, output, dry_run)))


async def _add(session: Session, asked: dict[str, Any], output: str | None, dry_run: bool) -> int | None:
    from nagaya.infrastructure.proxmox.image.apply import Run
    from nagaya.infrastructure.proxmox.image.choice import NoChoice
    from nagaya.infrastructure.proxmox.image.observe import size_of
    from nagaya.infrastructure.proxmox.image.report import plan_lines, plan_shown, result_lines, result_shown
    from nagaya.infrastructure.proxmox.image.users import reserved
    from nagaya.infrastructure.proxmox.privileges.held import Held
    from nagaya.infrastructure.proxmox.privileges.image import may_clean

    wanted = await _wanted(session.way, asked)
    proxmox, chosen = session.proxmox, wanted.image
    held = Held(await proxmox.access.permissions())
    run = Run(
        proxmox,
        wanted,
        Teller(),
        reserved=await reserved(session.client) if session.client is not None else frozenset(),
        users=await _users(session),
        may_clean=lambda storage: may_clean(held, storage),
    )
    try:
        planned = await run.plan()
        if planned.downloads:
            run.size = await size_of(proxmox, planned.downloads[0].host, chosen.url, verify=wanted.verify)
            planned = await run.plan() if run.size is not None else planned
    except NoChoice as error:
        raise Ended(str(error), ExitCode.PROBLEM) from error
    if output is None:
        for line in plan_lines(chosen, planned):
            click.echo(escape_line(line))
    if planned.nothing and output is None:
        click.echo(f"Nothing to do.\n\n{_usage(chosen)}")
        return None
    await _check(session, wanted, planned, held)
    if dry_run:
        show(plan_shown(chosen, planned), output, "Nothing was done: this was a dry run.")
        return None
    result = await run.apply(planned)
    show(result_shown(chosen, result), output, "\n".join(("", *result_lines(chosen, result))))
    if output is None:
        rest = "Not all hosts have it. See to what is said above, and run the same again: it goes on from here."
        click.echo(f"\n{_usage(chosen) if result.complete else rest}")
    return None if result.complete else int(ExitCode.INCOMPLETE)


async def _users(session: Session) -> Users:
    """Who selects templates: nobody, as far as an API knows that has no machines on Proxmox VE."""
    from nagaya.infrastructure.proxmox.image.users import Unaware, Users, users

    try:
        return await users(session.client) if session.client is not None else Users()
    except Unaware:
        return Users()


def _check_usage(asked: dict[str, Any]) -> None:
    """Refuse what can be seen to be wrong before anybody is asked."""
    from nagaya.infrastructure.proxmox.image.checksum import checksum
    from nagaya.infrastructure.proxmox.image.wanted import vmid_range

    if bool(asked["url"]) == bool(asked["distribution"]):
        raise click.UsageError("Give either --distribution or --url.")
    if asked["distribution"] and asked["kubernetes"]:
        raise click.UsageError(
            "The images of distributions have no Kubernetes in them: leave --kubernetes out (machines install it at "
            "boot: `nagaya proxmox image bootstrap-files`), or give the --url of an image that has it."
        )
    try:
        vmid_range(asked["vmid_range"])
        if asked["checksum"]:
            checksum(asked["checksum"])
    except ValueError as error:
        raise click.UsageError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


async def _wanted(way: Way, asked: dict[str, Any]) -> Wanted:
    from nagaya.infrastructure.proxmox.image.wanted import DEFAULT_BRIDGE, Hardware, Wanted, vmid_range

    return Wanted(
        await _image(asked),
        asked["storage"] or way.storage,
        asked["import_storage"],
        tuple(filter(None, (each.strip() for each in asked["hosts"].split(",")))),
        way.pool if asked["pool"] is None else asked["pool"],
        vmid_range(asked["vmid_range"]),
        Hardware(cpu=asked["cpu"], bridge=asked["bridge"] or way.bridge or DEFAULT_BRIDGE),
        asked["enable_import"],
        asked["keep_file"],
        not asked["no_verify_certificate"],
    )


async def _image(asked: dict[str, Any]) -> Image:
    from nagaya.infrastructure.proxmox.image.checksum import checksum
    from nagaya.infrastructure.proxmox.image.distributions import DISTRIBUTIONS
    from nagaya.infrastructure.proxmox.image.image import BadImage, image
    from nagaya.infrastructure.proxmox.image.published_checksum import LISTS, Unpublished, fetch, published_checksum

    url, origin = asked["url"], asked["origin"]
    lists: tuple[str, ...] = LISTS
    if asked["distribution"]:
        known = DISTRIBUTIONS[asked["distribution"]]
        url, origin, lists = known.url, origin or known.name, (known.sums,)
    try:
        expected = checksum(asked["checksum"]) if asked["checksum"] else await published_checksum(url, fetch, lists)
        return image(url, expected, origin=origin, format=asked["format_"] or "", kubernetes=asked["kubernetes"])
    except (BadImage, Unpublished) as error:
        raise Ended(str(error), ExitCode.PROBLEM) from error


async def _check(session: Session, wanted: Wanted, planned: Plan, held: Held) -> None:
    from nagaya.infrastructure.proxmox.image.lacking import lacking, subject_of
    from nagaya.infrastructure.proxmox.privileges.missing import commands

    release = (await session.proxmox.cluster.version()).release
    missing = lacking(held, planned, wanted, release, subject_of(session.proxmox))
    if not missing:
        return
    lines = [f"  {each.privilege} on {each.path}, to {each.operation}" for each in missing]
    told = ["The credentials lack rights:", *lines, "Grant them, as root on any host:"]
    told += [f"  {each}" for each in commands(missing)]
    if session.way.again:
        told += ["Or have it done, with a password of root:", f"  {session.way.again} --with-images"]
    raise Ended("\n".join(told), ExitCode.INCOMPLETE)


def _usage(chosen: Image) -> str:
    from nagaya.infrastructure.proxmox.image.manifests import selector

    found = json.dumps(selector(chosen.origin, kubernetes=bool(chosen.kubernetes)))
    plain = "It has no Kubernetes in it: `nagaya proxmox image bootstrap-files` shows how it gets there at boot."
    return f"Machines find it by templateSelector: {found}" + ("" if chosen.kubernetes else f"\n{plain}")


@image.command("list")
@output_option
@way_options
def list_(way: Given, output: str | None) -> None:
    """Show the images and other templates: which hosts have them, and who needs them.

    \b
    Examples:
      nagaya proxmox image list
      nagaya proxmox image list -o json
    """
    finish(in_session(way, lambda session: _list(session, output)))


async def _list(session: Session, output: str | None) -> None:
    from nagaya.infrastructure.proxmox.image.listing import listed, table
    from nagaya.infrastructure.proxmox.image.observe import observe
    from nagaya.infrastructure.proxmox.image.users import users

    known = await users(session.client) if session.client is not None else None
    seen = await observe(session.proxmox)
    found = listed(seen, known)
    off = sorted({*(name for name, on in seen.hosts.items() if not on), *seen.unread})
    text = table(found) if found else "There are no templates: make some with `nagaya proxmox image add`."
    if off:
        text += f"\nOff, or without an answer: {', '.join(off)}."
    show({"images": [each.shown for each in found], "hostsOff": off}, output, text)


@image.command()
@click.argument("names", metavar="NAME|VMID...", nargs=-1, required=True)
@click.option("--hosts", default="", metavar="NAME[,NAME...]", help="Only there.  [default: everywhere]")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@output_option
@way_options
def remove(way: Given, names: tuple[str, ...], hosts: str, dry_run: bool, yes: bool, output: str | None) -> None:
    """Remove images by name or VMID, unless something needs them.

    Only what `image add` made is ever removed. What a ProxmoxMachineTemplate, a ProxmoxMachine or a ProxmoxConnection
    selects stays, and so does what a disk of a machine is linked to.

    \b
    Examples:
      nagaya proxmox image remove 9000 --dry-run
      nagaya proxmox image remove 9000 9001 --hosts pve2 --yes
    """
    wanted = tuple(filter(None, (each.strip() for each in hosts.split(","))))

    async def work(session: Session) -> int | None:
        from nagaya.infrastructure.proxmox.image.observe import observe
        from nagaya.infrastructure.proxmox.image.removal import Unknown, linked_to, named, removal
        from nagaya.infrastructure.proxmox.image.users import Users, users

        known = await users(session.client) if session.client is not None else Users()
        seen = await observe(session.proxmox)
        try:
            meant = named(seen, names, wanted)
        except Unknown as error:
            raise Ended(str(error), ExitCode.PROBLEM) from error
        found = removal(seen, known, await linked_to(session.proxmox, meant), only=meant)
        if session.client is None and output is None:
            click.echo("Note: without a management API nobody knows which machines select an image.", err=True)
        return await _remove(session, found, dry_run, yes, output, refuses=True)

    finish(in_session(way, work))


@image.command()
@click.option(
    "--keep", type=click.IntRange(0), default=2, show_default=True, help="How many builds of each origin stay anyway."
)
@click.option("--unused", is_flag=True, help="Keep none that is not needed: the same as --keep 0.")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@output_option
@way_options
def prune(way: Given, keep: int, unused: bool, dry_run: bool, yes: bool, output: str | None) -> None:
    """Remove old images that nothing needs.

    Needs the management API, as only that knows what machines select.

    \b
    Examples:
      nagaya proxmox image prune --dry-run
      nagaya proxmox image prune --keep 1 --yes
    """

    async def work(session: Session) -> int | None:
        from nagaya.infrastructure.proxmox.image.observe import observe
        from nagaya.infrastructure.proxmox.image.removal import linked_to, removal
        from nagaya.infrastructure.proxmox.image.users import users

        if session.client is None:
            raise Ended(
                "Without the management API nobody knows which images machines select: give --kubeconfig, or remove "
                "single images with `nagaya proxmox image remove`.",
                ExitCode.MANAGEMENT_API,
            )
        known: Users = await users(session.client)
        seen = await observe(session.proxmox)
        found = removal(seen, known, await linked_to(session.proxmox, seen.ours()), keep=0 if unused else keep)
        return await _remove(session, found, dry_run, yes, output, refuses=False)

    finish(in_session(way, work))


async def _remove(
    session: Session, found: Removal, dry_run: bool, yes: bool, output: str | None, *, refuses: bool
) -> int | None:
    """`refuses`: that something stays is a failure, as somebody named it."""
    from nagaya.infrastructure.proxmox.image import removal
    from nagaya.infrastructure.proxmox.image.marker import RETIRED

    if output is None:
        for each in found.going:
            click.echo(escape_line(f"remove {each.vmid} ({each.name}) on {each.host}"))
        for each, why in found.staying:
            click.echo(escape_line(f"keep   {each.vmid} ({each.name}) on {each.host}: {why}"))
    problems: dict[int, str] = {}
    if found.going and not dry_run:
        if not yes:
            agree("Remove them?", nothing_done="Nothing was removed.")
        for each in found.going:
            gone = await removal.remove(session.proxmox, each, Teller())
            if gone.problem:
                problems[each.vmid] = gone.problem
                click.echo(gone.problem, err=True)
    shown = {
        "removed": [_shown(each) for each in found.going if each.vmid not in problems and not dry_run],
        "kept": [{**_shown(each), "why": why} for each, why in found.staying],
        "failed": [{**_shown(each), "why": problems[each.vmid]} for each in found.going if each.vmid in problems],
        **({"wouldRemove": [_shown(each) for each in found.going]} if dry_run else {}),
    }
    done = len(found.going) - len(problems)
    said = "Nothing was done: this was a dry run." if dry_run else f"{done} removed."
    if refuses and found.staying:
        said += (
            " Have what selects an image select another one, or retire it on its host (`qm set VMID --tags "
            f"{RETIRED}`): then it can go."
        )
    show(shown, output, said)
    return int(ExitCode.PROBLEM) if problems or (refuses and found.staying) else None


def _shown(template: Template) -> dict[str, Any]:
    return {"vmid": template.vmid, "name": template.name, "host": template.host}


@image.command("bootstrap-files")
@click.option("--version", default="v1.36.3", show_default=True, help="The Kubernetes version of the example.")
@click.option("--origin", default="debian-13", show_default=True, metavar="TAG", help="The tag of the image.")
@click.option("--baked", is_flag=True, help="The image has Kubernetes in it (it was added with --kubernetes).")
@click.option("--bridge", default="vmbr0", show_default=True, metavar="NAME", help="The bridge of the example.")
@manifests_option
def bootstrap_files(version: str, origin: str, baked: bool, bridge: str, output: str) -> None:
    """Print the parts of manifests that make machines from an image.

    A plain image has no Kubernetes in it. An annotation has the bootstrap provider install containerd, kubelet and
    kubeadm of the Machine's version at first boot, from pkgs.k8s.io; commands install the QEMU guest agent.

    \b
    Examples:
      nagaya proxmox image bootstrap-files
      nagaya proxmox image bootstrap-files --origin ubuntu-24.04 --version v1.36.3 --bridge vmbr1
    """
    from nagaya.infrastructure.proxmox.image.manifests import manifests

    name = origin.replace(".", "-")
    made = manifests(origin, version, kubernetes=baked, name=name, bridge=bridge)
    click.echo(printed_manifests(made, output), nl=False)
