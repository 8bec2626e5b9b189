"""Manifests that a command line names: files, folders, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SUFFIXES: Final = (".yaml", ".yml", ".json")


def texts(source: str, *, recursive: bool) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file that a source means. Raises OSError."""
    if source == "-":
        yield "standard input", sys.stdin.buffer.read()
        return
    path = Path(source)
    listed = path.rglob("*") if recursive else path.glob("*")
    inside = sorted(each for each in listed if each.suffix in _SUFFIXES and each.is_file())
    for file in inside if path.is_dir() else [path]:
        yield str(file), file.read_bytes()
