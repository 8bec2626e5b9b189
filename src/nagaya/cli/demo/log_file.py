"""Where warnings go while the demo draws its tree: a file in the data folder, which may be the first thing there."""

from __future__ import annotations

from pathlib import Path

import click


def log_file(data_dir: Path) -> Path:
    """The file. Raises ClickException if it cannot be written: then nothing else can be kept there either."""
    file = data_dir / "demo.log"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.open("a").close()
    except OSError as error:
        raise click.ClickException(
            f"{data_dir} cannot be used as a data folder: cannot write {error.filename or file} ({error.strerror}). "
            "Let it belong to the user of this process and have room, or choose another with --data-dir."
        ) from error
    return file
