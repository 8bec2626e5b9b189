"""`nagaya up`: the management API and its controllers in one process, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from nagaya.cli.addresses import address, allow_endpoint, own_address, tenants_users_option
from nagaya.cli.data_dir import default_data_dir
from nagaya.cli.log_options import log_options

if TYPE_CHECKING:
    from nagaya.cli.logs import Form
    from nagaya.controlplane.hosted.host.settings import HostSettings

DEFAULT_PORT: Final = 6443
_OF_THE_EMBEDDED: Final[Mapping[str, str]] = {
    "listen": "--listen",
    "write_kubeconfig": "--write-kubeconfig",
    "encryption_key": "--encryption-key",
    "audit_log": "--audit-log",
    "audit_level": "--audit-level",
    "without_controllers": "--without-controllers",
    "demo": "--demo",
}
"""Options about the API server of this process, which a Kubernetes elsewhere has no use for."""

_OF_CONTROLLERS: Final[Mapping[str, str]] = {
    "health": "--health",
    "tenants_address": "--tenants-address",
    "tenants_users": "--tenants-users",
    "stop_tenants": "--stop-tenants",
    "allowed": "--allow-endpoint",
    "demo": "--demo",
}


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_data_dir,
    show_default="~/.local/share/nagaya",
    help="Where everything is kept. Made if it does not exist.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    callback=address,
    default=f"127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    help="Where clients connect. Only this machine can, unless you name another address. Port 0 takes any free one.",
)
@click.option(
    "--write-kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the administrator's kubeconfig goes, readable by you only.  [default: DATA_DIR/kubeconfig]",
)
@click.option(
    "--encryption-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The key file with which Secrets are encrypted.  [default: DATA_DIR/state.key, made if need be]",
)
@click.option(
    "--audit-log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write who did what, a line of JSON per request, to this file, readable by you only.",
)
@click.option(
    "--audit-level",
    type=click.Choice(["Metadata", "Request", "RequestResponse"]),
    default="Metadata",
    show_default=True,
    help="How much the audit log holds: only what was asked and by whom, also what was sent, or also the answers. "
    "Contents of Secrets, ConfigMaps and tokens never are in it.",
)
@click.option(
    "--without-controllers",
    is_flag=True,
    help="Only the management API. Run the controllers with `nagaya controllers`, which has options for experts.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Run the controllers against this Kubernetes instead of an API of this process: kinds are installed, and of "
    "several such processes one works.",
)
@click.option("--context", help="With --kubeconfig: the context of it to use.  [default: its current one]")
@click.option(
    "--health",
    metavar="HOST:PORT",
    callback=address,
    default="127.0.0.1:0",
    show_default=True,
    help="Where the controllers' /healthz, /readyz and /metrics are. Port 0 takes any free one.",
)
@click.option(
    "--tenants-address",
    metavar="ADDRESS",
    callback=own_address,
    help="The address of this machine at which hosted control planes listen.  [default: the one that others see]",
)
@tenants_users_option
@click.option(
    "--stop-tenants",
    is_flag=True,
    help="Stop hosted control planes when this command stops. They go on otherwise, and are found at its next start.",
)
@allow_endpoint
@click.option(
    "--demo",
    is_flag=True,
    help="If nothing is here yet, also make the tenant of `nagaya demo`, once; later starts keep it going while it is "
    "there. This is what `make up` does. Warnings go to the file demo.log in the data folder then.",
)
@log_options
@click.pass_context
def up(
    click_context: click.Context,
    data_dir: Path,
    listen: tuple[str, int],
    write_kubeconfig: Path | None,
    encryption_key: Path | None,
    audit_log: Path | None,
    audit_level: str,
    without_controllers: bool,
    kubeconfig: Path | None,
    context: str | None,
    health: tuple[str, int],
    tenants_address: str,
    tenants_users: range,
    stop_tenants: bool,
    allowed: tuple[str, ...],
    demo: bool,
    verbose: int,
    log_format: Form,
) -> None:
    """Start the management API and all controllers, and keep them running until Ctrl-C.

    The API is a Kubernetes API: kubectl, Helm and client libraries work with it. Everything is kept in the data
    folder; start again and it is all there. With --kubeconfig the controllers work for a Kubernetes of yours instead.

    \b
    Examples:
      nagaya up
      nagaya up --data-dir ./lab --listen 127.0.0.1:7443
      nagaya up --listen 0.0.0.0:6443 --write-kubeconfig ~/.kube/nagaya
      nagaya up --kubeconfig ~/.kube/config --context production
    """
    from nagaya.cli import logs

    file = None
    if demo:
        # Lines of the log would go across the tree that the demo draws.
        from nagaya.cli.demo.log_file import log_file

        file = log_file(data_dir)
    logs.set_up(verbose, log_format, file)
    from nagaya.cli.up_run import HOSTED, Guest, Settings, serve
    from nagaya.controlplane.hosted.host.settings import HostSettings

    folder = data_dir.absolute() / HOSTED
    hosting = HostSettings(folder, tenants_address, users=tenants_users, stop_with_us=stop_tenants)
    if kubeconfig is not None:
        _refuse(click_context, _OF_THE_EMBEDDED, "--kubeconfig runs the controllers only, for an API that runs already")
        _run_elsewhere(kubeconfig, context, health, hosting, allowed)
        return
    if context is not None:
        raise click.UsageError("--context goes with --kubeconfig.")
    if without_controllers:
        _refuse(click_context, _OF_CONTROLLERS, "--without-controllers runs none")

    import uvloop

    settings = Settings(
        data_dir,
        listen,
        write_kubeconfig or data_dir / "kubeconfig",
        hosting,
        (audit_log, audit_level) if audit_log else None,
        controllers=not without_controllers,
        health=health,
        allowed=allowed,
        encryption_key=encryption_key,
    )
    guest = None
    if demo:
        # Only now, because it brings an emulated data center with it.
        from nagaya.cli.demo.run import Demo

        guest = Guest(Demo(data_dir, settings.kubeconfig).run_once)
    uvloop.run(serve(settings, guest))


def _refuse(context: click.Context, options: Mapping[str, str], why: str) -> None:
    given = [
        option
        for name, option in options.items()
        if context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
    ]
    if given:
        raise click.UsageError(f"{why}: leave out {', '.join(given)}.")


def _run_elsewhere(
    kubeconfig: Path,
    context: str | None,
    health: tuple[str, int],
    hosting: HostSettings,
    allowed: tuple[str, ...],
) -> None:
    """What `nagaya controllers --install-crds --leader-elect --health` does."""
    from nagaya.cli.controllers import PARTS, connection
    from nagaya.cli.controllers_run import Settings, run

    settings = Settings(
        PARTS,
        install_crds=True,
        lease_namespace="default",
        health=health,
        hosting=hosting,
        allowed=allowed,
    )
    run(settings, connection(kubeconfig, context))
