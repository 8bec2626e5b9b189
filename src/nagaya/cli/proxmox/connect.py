"""`nagaya proxmox connect`: from an administrator's password to a connection with the least rights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.document import JSON, YAML
from nagaya.cli.proxmox.api import NAME, management_options
from nagaya.cli.proxmox.ask import trust_given
from nagaya.cli.proxmox.failure import finish

if TYPE_CHECKING:
    from nagaya.infrastructure.proxmox.privileges.operations import Feature
    from nagaya.infrastructure.proxmox.privileges.place import Scope


_USER: Final = re.compile(r"[^@!\s]+@[^@!\s]+")
_TOKEN: Final = re.compile(r"[^@!=\s]+@[^@!=\s]+![^@!=\s]+")
_POOL: Final = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}")


@click.command()
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--user", default="root@pam", show_default=True, help="The administrator who makes it all: name@realm.")
@click.option(
    "--password-file",
    metavar="FILE",
    help="Read the password from the first line of this file; - is standard input.  [default: ask for it]",
)
@click.option(
    "--token",
    metavar="USER@REALM!NAME",
    help="Store and verify a token that you made yourself; nothing is changed in Proxmox VE.",
)
@click.option(
    "--secret-file", metavar="FILE", help="With --token: read its secret from this file.  [default: ask for it]"
)
@click.option(
    "--ca-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The authority of the hosts' certificates: /etc/pve/pve-root-ca.pem of any host.",
)
@click.option("--fingerprint", metavar="SHA256", help="The fingerprint of the host's certificate.")
@click.option(
    "--insecure",
    metavar="REASON",
    help="Trust whoever answers, for this reason. Anybody in between can then read the credentials.",
)
@click.option("--pool", help="The pool for machines. Made if it does not exist.  [default: nagaya]")
@click.option("--storage", "storages", multiple=True, metavar="NAME", help="For disks; can be given more than once.")
@click.option("--iso-storage", metavar="NAME", help="For CDs with boot data.")
@click.option("--bridge", "bridges", multiple=True, metavar="NAME", help="A bridge or virtual network; more than once.")
@click.option(
    "--zone", "zones", multiple=True, metavar="NAME", help="An SDN zone with all its networks; more than once."
)
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Hosts for machines.  [default: all]")
@click.option("--template", "templates", multiple=True, type=int, metavar="VMID", help="A template; more than once.")
@click.option("--template-pool", metavar="NAME", help="A pool whose templates are used.")
@click.option("--device", "devices", multiple=True, metavar="MAPPING", help="A mapping of PCI devices; more than once.")
@click.option(
    "--boot-data",
    type=click.Choice(["cd", "agent", "both"]),
    help="How boot data may reach machines: on a CD, or by the guest agent, which may then run programs in guests.  "
    "[default: cd]",
)
@click.option("--ha", is_flag=True, help="Let the HA manager look after machines. Needs Sys.Console on /.")
@click.option("--with-images", is_flag=True, help="Also grant what `nagaya proxmox image` needs.")
@click.option("--import-storage", metavar="NAME", help="With --with-images: where hosts download images to.")
@click.option(
    "--service-user",
    help="To whom the token belongs. Made if there is none.  [default: nagaya@pve]",
)
@click.option("--rotate", is_flag=True, help="Replace the token by a new one, and remove the old one afterwards.")
@management_options
@click.option("--name", default=NAME, show_default=True, help="The name of the ProxmoxConnection.")
@click.option(
    "--output",
    "-o",
    type=click.Choice([YAML, JSON]),
    help="Print the manifests, with the secret in them, instead of storing them.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan, and change nothing.")
@click.option(
    "--print-commands",
    is_flag=True,
    help="Print pveum commands for root on any host. Nobody is asked for anything, and nothing is changed.",
)
@click.option(
    "--pve-version",
    default="9",
    show_default=True,
    metavar="VERSION",
    help="With --print-commands: for which Proxmox VE.",
)
@click.option("--yes", "-y", is_flag=True, help="Do what is planned without asking.")
@click.option(
    "--wait",
    type=float,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait until the controllers find the connection ready.",
)
def connect(
    urls: tuple[str, ...],
    storages: tuple[str, ...],
    iso_storage: str | None,
    bridges: tuple[str, ...],
    zones: tuple[str, ...],
    hosts: tuple[str, ...],
    templates: tuple[int, ...],
    template_pool: str | None,
    devices: tuple[str, ...],
    pool: str | None,
    boot_data: str | None,
    ha: bool,
    with_images: bool,
    import_storage: str | None,
    print_commands: bool,
    pve_version: str,
    **rest: Any,
) -> None:
    """Make a user, roles, a pool and a token with the least rights in Proxmox VE, and store the token.

    URL is the address of a host; scheme and port may be left out, and several hosts of one cluster may be named. The
    password is asked for once and kept nowhere. First the plan is printed and you are asked. Run it again at any time:
    what is there is left as it is, and what is missing is made; what was asked for before need not be said again.

    \b
    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 you said no, 4 the management API does not take it,
    5 Proxmox VE cannot be reached or trusted, 6 it refuses the credentials, 7 rights are missing.

    \b
    Examples:
      nagaya proxmox connect https://pve:8006 --user root@pam
      nagaya proxmox connect pve1 pve2 pve3 --storage local-lvm --bridge vmbr0 --dry-run
      nagaya proxmox connect pve --print-commands
      nagaya proxmox connect pve --rotate --password-file - --yes < password
    """
    from nagaya.cli.proxmox.connect_run import Settings, print_setup, run
    from nagaya.infrastructure.proxmox.client import BadEndpoint, endpoint
    from nagaya.infrastructure.proxmox.connection.establishing.remembered import Purpose
    from nagaya.infrastructure.proxmox.privileges.place import Scope

    try:
        endpoints = tuple(dict.fromkeys(map(endpoint, urls)))
    except BadEndpoint as error:
        raise click.BadParameter(f"{error}.", param_hint="URL") from error
    if rest["insecure"] is not None and len(rest["insecure"].split()) < 2:
        raise click.UsageError(
            '--insecure wants a reason of two words or more, such as "a trial", which is kept with the connection.'
        )
    if sum(rest[each] is not None for each in ("ca_file", "fingerprint", "insecure")) > 1:
        raise click.UsageError("give one of --ca-file, --fingerprint and --insecure.")
    if rest["token"] and rest["rotate"]:
        raise click.UsageError("--rotate makes a token, and --token brings one: give one of them.")
    _check_names(rest["user"], rest["service_user"], rest["token"])
    _check_pools(pool, template_pool)
    if rest["token"] and rest["dry_run"]:
        raise click.UsageError("--token changes nothing in Proxmox VE: --dry-run has nothing to show.")
    scope = Scope(
        pool=pool or "",
        template_pool=template_pool or "",
        templates=templates,
        storages=storages,
        iso_storage=iso_storage or "",
        bridges=bridges,
        zones=zones,
        devices=devices,
        hosts=hosts,
        import_storages=(import_storage,) if import_storage else (),
    )
    features = _features(scope, boot_data or "", ha=ha, with_images=with_images)
    purpose = Purpose(scope, features, rest.pop("service_user") or "")
    if print_commands:
        print_setup(purpose, pve_version, urls)
        return
    trust = trust_given(rest.pop("ca_file"), rest.pop("fingerprint"), rest["insecure"])
    settings = Settings(endpoints=endpoints, purpose=purpose, trust=trust, **rest)
    finish(run(settings))


def _check_names(user: str, service_user: str | None, token: str | None) -> None:
    """Before anybody is asked for a secret."""
    for option, name in (("--user", user), ("--service-user", service_user)):
        if name is not None and not _USER.fullmatch(name):
            plain = name.strip("@") or "root"
            raise click.BadParameter(
                f"{name!r} has no realm: write {plain}@pam for a user of the hosts, or {plain}@pve for one of Proxmox "
                "VE.",
                param_hint=option,
            )
    if token is not None and not _TOKEN.fullmatch(token):
        raise click.BadParameter(
            f"{token.partition('=')[0]!r} is not the id of a token, or its secret is there, too: write "
            "user@realm!name. The secret is asked for, or read from --secret-file.",
            param_hint="--token",
        )


def _check_pools(pool: str | None, template_pool: str | None) -> None:
    """Proxmox VE would refuse the name in the midst of what is planned."""
    for option, name in (("--pool", pool), ("--template-pool", template_pool)):
        if name is not None and not _POOL.fullmatch(name):
            raise click.BadParameter(
                f"{name!r} is no name of a pool. Take letters, digits, dots, hyphens and underscores; a pool in "
                "another one is written OUTER/INNER, at most three deep.",
                param_hint=option,
            )


def _features(scope: Scope, boot_data: str, *, ha: bool, with_images: bool) -> tuple[Feature, ...]:
    from nagaya.infrastructure.proxmox.privileges.operations import Feature

    found: list[Feature] = []
    if boot_data in ("cd", "both"):
        found.append(Feature.ISO)
    if boot_data in ("agent", "both"):
        found.append(Feature.NATIVE)
    if ha:
        found.append(Feature.HIGH_AVAILABILITY)
    if scope.devices:
        found.append(Feature.DEVICES)
    if with_images:
        found.append(Feature.IMAGES)
    return tuple(found)
