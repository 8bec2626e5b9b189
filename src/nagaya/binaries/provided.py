"""The user's own programs: a folder that NAGAYA_KUBERNETES_BIN names and that wins over everything.

It is for machines that reach neither a release site nor a module proxy, and for programs that someone built on
purpose. Nagaya changes nothing in it. A program of another version is an error and not a fallback: whoever names a
folder would not want something else used silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nagaya.binaries.errors import BinariesError, ProvidedMismatch
from nagaya.binaries.programs import Program
from nagaya.binaries.releases import OLDEST_ETCD, Release, triple
from nagaya.binaries.version_check import version_of

VARIABLE = "NAGAYA_KUBERNETES_BIN"


def provided_programs(folder: Path, release: Release, programs: Iterable[Program]) -> dict[str, tuple[Path, str]]:
    """Path and version of those programs that are in the folder; ProvidedMismatch if one is not what is wanted."""
    if not folder.is_dir():
        raise ProvidedMismatch(f"{VARIABLE} names {folder}, which is not a folder. Correct it or unset it.")
    present = [(program, folder / program.name) for program in programs if (folder / program.name).exists()]
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda pair: _checked(pair[0], pair[1], release), present))
    wrong = [complaint for complaint in found if isinstance(complaint, BinariesError)]
    if wrong:
        listed = "\n".join(f"  - {complaint}" for complaint in wrong)
        raise ProvidedMismatch(
            f"{VARIABLE} names {folder}, but what is in it does not fit Kubernetes {release.kubernetes}:\n{listed}\n"
            f"Put the right versions there, ask for the version that is there, or unset {VARIABLE}."
        )
    return {
        program.name: (path, told)
        for (program, path), told in zip(present, found, strict=True)
        if not isinstance(told, BinariesError)
    }


def _checked(program: Program, path: Path, release: Release) -> str | BinariesError:
    try:
        told = version_of(program, path)
    except BinariesError as error:
        return error
    if program.product == "etcd":
        if triple(told) < OLDEST_ETCD:
            oldest = ".".join(map(str, OLDEST_ETCD))
            return ProvidedMismatch(f"{program.name} is {told}, older than v{oldest}, which Kubernetes needs")
    elif told != release.of(program.product):
        return ProvidedMismatch(f"{program.name} is {told}, not {release.of(program.product)}")
    return told
