"""What the installer expects of a source, whichever it is."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nagaya.binaries.programs import Product, Program


@dataclass(frozen=True, slots=True)
class Workplace:
    """Folders on the cache's file system that a source may use while the lock is held."""

    staging: Path
    """Empty at the start and removed at the end."""
    downloads: Path
    """Kept until everything is there, so that what was begun can be continued."""
    logs: Path
    """Made by whoever has something to keep there, for those who look for the reason of a failure."""
    build_cache: Path
    """Go's build cache. Kept for good; Go itself removes what was not used for five days."""
    lock: int
    """The descriptor of the lock, for child processes that may outlive us."""
    planned: Sequence[tuple[Product, str, Sequence[Program]]] = ()
    """All that this source is going to be asked for, in the order of the calls to `provide`: it may prepare the next
    while it works."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A finished program, not yet in its place."""

    program: Program
    path: Path
    origin: str


class Source(Protocol):
    """A place that programs come from."""

    @property
    def name(self) -> str:
        """How it is called in messages."""
        ...

    def provide(
        self, product: Product, version: str, programs: Sequence[Program], work: Workplace
    ) -> Generator[Staged, None, None]:
        """Give the programs one by one; raises SourceFailed when it cannot, and keeps what it has given valid."""
        ...
