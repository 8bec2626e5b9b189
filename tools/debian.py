"""Fetch what the real tier needs from Debian, without installing anything.

Tests have machines that are namespaces of this computer (containerd, runc, CNI plugins, iptables and so on), a
PostgreSQL, and the real cloud-init. Installing those would start services and change how this computer boots. So their
packages are downloaded by apt, which checks signatures, and unpacked into one folder:

    root/   as the packages have it, with /lib, /bin and /sbin inside /usr as on every system of today
    bin/    their programs, each as a script that finds its libraries in root/

Nobody has to be root for it, and nothing outside of the folder changes. Where the system's own lists of packages are
missing or too old, as on a new computer, lists are fetched for this one time into a temporary folder.

Where it cannot be done, on systems without apt or without its archives, this says so and leaves nothing; the tests that
need it are skipped then.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

WANTED: Final = (
    *("containerd", "runc", "containernetworking-plugins"),
    *("iproute2", "iptables", "conntrack", "ebtables", "ethtool"),
    "postgresql",
    "cloud-init",
    "genisoimage",
)

_NEEDED: Final = re.compile(r"lib.*|zlib1g|python3-.*|postgresql-(client-)?[0-9]+")
_OF_THE_SYSTEM: Final = re.compile(
    # The C library and interpreters must be the running system's, and what sets a system up is not run.
    r"libc6|libc-.*|libgcc-s1|libcrypt1|libpam-.*|libperl.*|lib.*-perl|libpython3.*|python3-minimal"
    # PostgreSQL compiles queries with it if it is there; it is bigger than all the rest.
    r"|libllvm.*|libz3-.*"
)
_MERGED: Final = ("bin", "sbin", "lib", "lib64")
_PROGRAMS: Final = ("usr/bin", "usr/sbin", "usr/lib/postgresql/*/bin")
_LIBRARIES: Final = ("usr/lib/*-linux-gnu*", "usr/lib")
# Made by scripts at installation, which are not run here.
_LINKS: Final = {
    **{
        f"usr/sbin/{family}tables{verb}": "xtables-nft-multi"
        for family in ("ip", "ip6")
        for verb in ("", "-save", "-restore")
    },
    **{f"usr/sbin/ebtables{verb}": "xtables-nft-multi" for verb in ("", "-save", "-restore")},
}
_APT: Final = (
    *("-o", "APT::Sandbox::User=root"),  # the folder need not be open to the user that apt would become
    *("-o", "Acquire::Retries=2"),
    *("-o", "Acquire::http::Timeout=20"),
    *("-o", "Acquire::https::Timeout=20"),
)
_LEAN: Final = "--exclude=./usr/share/doc --exclude=./usr/share/locale --exclude=./usr/share/man"
_SMALL: Final = "conntrack"
_PATIENCE: Final = 600
_BRIEF: Final = 90
"""Seconds. Where archives cannot be reached, some networks let one wait for every single file."""
_WRAPPER: Final = """\
#!/bin/sh
LD_LIBRARY_PATH={libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} XTABLES_LIBDIR={tables} exec {program} "$@"
"""


class Failed(Exception):
    """A program could not do its work; the message says why."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True, type=Path, help="the folder to make")
    to: Path = parser.parse_args().to.resolve()
    missing = [name for name in ("apt-get", "dpkg-deb", "tar") if shutil.which(name) is None]
    if missing:
        print(f"nothing from Debian for tests: this system has no {', '.join(missing)}")
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".debian-") as folder:
        half = Path(folder) / "debian"
        try:
            for package in _download(Path(folder)):
                _unpack(package, half / "root")
        except Failed as error:
            print(f"nothing from Debian for tests: {error}")
            return
        _complete(half / "root")
        _wrap(half, to)
        if to.exists():
            to.rename(Path(folder) / "old")  # an interruption leaves the whole folder or none
        os.replace(half, to)


def _download(folder: Path) -> list[Path]:
    """The packages, as files. Raises Failed."""
    # An empty record of what is installed: what is fetched must not depend on what happens to be there.
    (folder / "status").touch()
    (folder / "cache").mkdir()
    apt = ["apt-get", "--quiet", "--quiet", *_APT, "-o", f"Dir::State::status={folder / 'status'}"]
    # For root it would be the system's, which has that record in it and which other runs of this write as well.
    apt += ["-o", f"Dir::Cache={folder / 'cache'}"]
    try:
        return _download_by(apt, folder)
    except Failed as first:
        lists = folder / "lists"
        lists.mkdir()
        apt += ["-o", f"Dir::State::lists={lists}"]
        try:
            _run([*apt, "update"], folder, _BRIEF)
            return _download_by(apt, folder)
        except Failed as second:
            raise Failed(f"{first}; and with new lists of packages: {second}") from second


def _download_by(apt: list[str], folder: Path) -> list[Path]:
    planned = _run([*apt, "--simulate", "--no-install-recommends", "install", *WANTED], folder)
    names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
    needed = [name for name in names if _NEEDED.fullmatch(name) and not _OF_THE_SYSTEM.fullmatch(name)]
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)  # an attempt before this one may have had other versions
    packages.mkdir()
    _run([*apt, "download", _SMALL], packages, _BRIEF)
    _run([*apt, "download", *dict.fromkeys((*WANTED, *needed))], packages)
    return sorted(packages.glob("*.deb"))


def _unpack(package: Path, root: Path) -> None:
    for name in _MERGED:
        if not (root / name).is_symlink():
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(f"usr/{name}")
    command = f'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink --no-same-owner {_LEAN} -C "$2"'
    _run(["bash", "-o", "pipefail", "-ec", command, "bash", str(package), str(root)], root)


def _complete(root: Path) -> None:
    """What installation would have done, as far as it matters."""
    for path, target in _LINKS.items():
        if (root / path).parent.joinpath(target).exists() and not (root / path).exists():
            (root / path).unlink(missing_ok=True)
            (root / path).symlink_to(target)
    for compiler in root.glob("usr/lib/postgresql/*/lib/llvmjit*.so"):
        compiler.unlink()  # PostgreSQL does without, if it is not there at all


def _wrap(half: Path, to: Path) -> None:
    """A script for each program, with the paths that there will be in the end."""
    (half / "bin").mkdir()
    root = half / "root"
    final = to / "root"
    libraries = [str(final / folder.relative_to(root)) for each in _LIBRARIES for folder in sorted(root.glob(each))]
    tables = [str(final / folder.relative_to(root)) for folder in root.glob("usr/lib/*/xtables")]
    for program in _executables(root):
        text = _WRAPPER.format(
            libraries=_quoted(":".join(libraries)),
            tables=_quoted("".join(tables[:1])),
            program=_quoted(str(final / program.relative_to(root))),
        )
        script = half / "bin" / program.name
        script.write_text(text)
        script.chmod(0o755)


def _executables(root: Path) -> Iterable[Path]:
    for pattern in _PROGRAMS:
        for program in sorted(root.glob(f"{pattern}/*")):
            if program.is_symlink() and Path(os.readlink(program)).is_absolute():
                continue  # the other name of a program that is here, but the link leads out of the folder
            if program.is_file() and program.read_bytes()[:4] == b"\x7fELF":
                yield program


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _run(command: list[str], folder: Path, patience: float = _PATIENCE) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[0]} did not end within {patience:g} s") from error
    if done.returncode:
        problems = [line.removeprefix("E: ") for line in done.stderr.splitlines() if line.startswith("E: ")]
        raise Failed((problems or done.stderr.splitlines() or [f"{command[0]} ended with {done.returncode}"])[0])
    return done.stdout


if __name__ == "__main__":
    main()
