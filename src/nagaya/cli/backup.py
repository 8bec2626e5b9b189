"""`nagaya backup` and `nagaya restore`: the management API's data in one file, and back."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from nagaya.cli.data_dir import default_data_dir
from nagaya.cli.output.document import printed, result_option

if TYPE_CHECKING:
    from nagaya.apiserver.storage import Salvaged

_STREAM: Final = Path("-")
_RANGES: Final = 10
_data_dir = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_data_dir,
    show_default="~/.local/share/nagaya",
    help="The data folder of `nagaya up`.",
)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True))
@_data_dir
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@result_option
def backup(file: Path, data_dir: Path, force: bool, output: str | None) -> None:
    """Copy the management API's data into FILE, while it runs or not; - is standard output.

    FILE holds every object, Secrets too, which stay encrypted with the key in `state.key`. Neither that key nor the
    certificate authority is in it: keep `state.key` and the folder `pki` of the data folder once, in a safe place
    apart from FILE. Nor is the data of hosted control planes: `nagaya tenant backup` keeps each.

    \b
    Examples:
      nagaya backup nagaya-monday.db
      nagaya backup --data-dir ./lab --force /backups/lab.db
      nagaya backup - | gpg --encrypt --recipient ops > nagaya-monday.db.gpg
    """
    from nagaya.apiserver.storage import StorageError, backup_directory

    if file == _STREAM and sys.stdout.isatty():
        raise click.UsageError("a backup is no text for a terminal: name a file, or pipe it on.")
    if file == _STREAM and output is not None:
        raise click.UsageError("--output would be in the middle of the backup: name a file, or leave it out.")
    with _written(file) as place:
        try:
            backup_directory(data_dir, place, overwrite=force)
        except StorageError as error:
            raise click.ClickException(_sentence(error)) from error
        size = place.stat().st_size
    if output is not None:
        click.echo(printed({"file": str(file), "bytes": size}, output), nl=False)
    elif file != _STREAM:
        click.echo(f"Wrote {file} ({_size(size)}). Put it back with: nagaya restore {file}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True), required=False)
@_data_dir
@click.option("--force", is_flag=True, help="Also if there is data already. It is moved aside, not deleted.")
@click.option("--salvage", is_flag=True, help="Without FILE: keep what is intact in data that `nagaya up` refuses.")
@click.option(
    "--encryption-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The key file with which Secrets are encrypted.  [default: DATA_DIR/state.key]",
)
@result_option
def restore(
    file: Path | None, data_dir: Path, force: bool, salvage: bool, encryption_key: Path | None, output: str | None
) -> None:
    """Put the backup in FILE in place of the management API's data; - is standard input.

    `nagaya up` must not be running on it, and the key file that Secrets were encrypted with must be there. Clients that
    watched notice that the history has a gap, and list again.

    With --salvage there is no FILE: what is intact in damaged data becomes new data, and what is lost is listed. The
    damaged files are moved aside, not deleted. A recent backup is better: salvage is for when there is none.

    \b
    Examples:
      nagaya restore nagaya-monday.db
      nagaya restore --data-dir ./lab --force /backups/lab.db
      gpg --decrypt nagaya-monday.db.gpg | nagaya restore -
      nagaya restore --salvage
    """
    from nagaya.apiserver.storage import Restored, Salvaged, StorageError
    from nagaya.apiserver.storage import restore as put_back
    from nagaya.apiserver.storage import salvage as keep_intact
    from nagaya.world import SystemClock

    if salvage and file is not None:
        raise click.UsageError("--salvage works on the data itself: leave FILE out.")
    try:
        restored: Restored
        if salvage:
            restored = keep_intact(data_dir, SystemClock(), key=encryption_key)
        elif file is not None:
            with _read(file) as place:
                restored = put_back(place, data_dir, SystemClock(), force=force, key=encryption_key)
        else:
            raise click.UsageError("Name a FILE made by `nagaya backup`, or use --salvage if there is none.")
    except StorageError as error:
        raise click.ClickException(_sentence(error)) from error
    aside = restored.moved_aside
    if output is not None:
        document: dict[str, object] = {
            "objects": restored.objects,
            "dataDir": str(data_dir),
            "movedAside": None if aside is None else str(aside),
        }
        if isinstance(restored, Salvaged):
            document |= {"complete": restored.complete, "lostRevisions": [list(each) for each in restored.lost]}
        click.echo(printed(document, output), nl=False)
        return
    click.echo(f"{'Salvaged' if salvage else 'Restored'} {restored.objects} objects into {data_dir}.")
    if isinstance(restored, Salvaged):
        click.echo(_verdict(restored))
    if aside is not None:
        click.echo(f"The data that was there is in {aside}.")


def _verdict(salvaged: Salvaged) -> str:
    """What is lost, as far as anybody can know."""
    if salvaged.complete:
        return "Nothing is lost: the digest of all that was acknowledged is right."
    ranges = [f"{first}" if first == last else f"{first}-{last}" for first, last in salvaged.lost]
    count = sum(last - first + 1 for first, last in salvaged.lost)
    if not ranges:
        return "Objects may be missing: no lost revision is known, but nothing proves that there is none."
    shown = ", ".join(ranges[:_RANGES]) + (", ..." if len(ranges) > _RANGES else "")
    return (
        f"Lost: {count} revision{'s' * (count != 1)} ({shown}). What they wrote is missing or older, and what they "
        "deleted may be there again."
    )


@contextmanager
def _written(file: Path) -> Iterator[Path]:
    """Where the backup goes: a stream gets it when it is complete and checked."""
    with _placed(file, "standard-output.db") as place:
        yield place
        if file == _STREAM:
            with place.open("rb") as whole, _copying("standard output does not take the backup"):
                shutil.copyfileobj(whole, sys.stdout.buffer)
                sys.stdout.buffer.flush()


@contextmanager
def _read(file: Path) -> Iterator[Path]:
    """Where the backup is: a stream is read to its end first, so that it can be checked before anything is touched."""
    with _placed(file, "standard-input.db") as place:
        if file == _STREAM:
            with _copying(f"{place.parent} does not take the backup"), place.open("wb") as whole:
                shutil.copyfileobj(sys.stdin.buffer, whole)
        yield place


@contextmanager
def _copying(finding: str) -> Iterator[None]:
    """Report what ends a copy, but for a reader that has gone."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"{finding}: {error.strerror}. Nothing was changed.") from error


@contextmanager
def _placed(file: Path, name: str) -> Iterator[Path]:
    """The file itself, or what stands for a stream meanwhile."""
    if file != _STREAM:
        yield file
        return
    with TemporaryDirectory(prefix="nagaya-backup-") as folder:
        yield Path(folder) / name


def _sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.')}."


def _size(number: int) -> str:
    return f"{number / 1_000_000:.1f} MB" if number >= 100_000 else f"{number / 1000:.0f} kB"
