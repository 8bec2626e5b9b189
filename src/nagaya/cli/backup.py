"""`nagaya backup` and `nagaya restore`: the management API's data in one file, and back."""

from __future__ import annotations

from pathlib import Path

import click

from nagaya.cli.data_dir import default_data_dir

_data_dir = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_data_dir,
    show_default="~/.local/share/nagaya",
    help="The data folder of `nagaya up`.",
)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_data_dir
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def backup(file: Path, data_dir: Path, force: bool) -> None:
    """Copy the management API's data into FILE, while it runs or not.

    FILE holds every object, Secrets too, and is readable by you only. The certificate authority and the other keys
    are not in it: they are in the folder `pki` of the data folder, never change, and should be kept once, in a safe
    place.

    \b
    Examples:
      nagaya backup nagaya-monday.db
      nagaya backup --data-dir ./lab --force /backups/lab.db
    """
    from nagaya.apiserver.storage import StorageError, backup_directory

    try:
        backup_directory(data_dir, file, overwrite=force)
    except StorageError as error:
        raise click.ClickException(_sentence(error)) from error
    click.echo(f"Wrote {file} ({_size(file.stat().st_size)}). Put it back with: nagaya restore {file}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_data_dir
@click.option("--force", is_flag=True, help="Also if there is data already. It is moved aside, not deleted.")
def restore(file: Path, data_dir: Path, force: bool) -> None:
    """Put the backup in FILE in place of the management API's data.

    `nagaya up` must not be running on it. Clients that watched notice that the history has a gap, and list again.

    \b
    Examples:
      nagaya restore nagaya-monday.db
      nagaya restore --data-dir ./lab --force /backups/lab.db
    """
    from nagaya.apiserver.storage import StorageError
    from nagaya.apiserver.storage import restore as put_back
    from nagaya.world import SystemClock

    try:
        restored = put_back(file, data_dir, SystemClock(), force=force)
    except StorageError as error:
        raise click.ClickException(_sentence(error)) from error
    click.echo(f"Restored {restored.objects} objects into {data_dir}.")
    if restored.moved_aside is not None:
        click.echo(f"The data that was there is in {restored.moved_aside}.")


def _sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.')}."


def _size(number: int) -> str:
    return f"{number / 1_000_000:.1f} MB" if number >= 100_000 else f"{number / 1000:.0f} kB"
