"""A few programs, for the machines that only pretend: enough to try out what a guest agent can start.

Scripts are split at `;`, `&&` and line ends; anything else of a shell's language is taken as it stands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_FOLDERS = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")


@dataclass(slots=True)
class Outcome:
    """What a program did."""

    code: int = 0
    out: str = ""
    err: str = ""
    seconds: float = 0.0
    """How long it takes."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What programs see."""

    files: Mapping[str, bytes]
    hostname: str
    boot_status: Callable[[], tuple[str, str]]
    """What `cloud-init status` says, and its detail."""


def exists(path: str, surroundings: Surroundings) -> bool:
    """Whether there is such a program."""
    return _short(path) in _PROGRAMS or path in surroundings.files


def run(words: Sequence[str], given: str, surroundings: Surroundings) -> Outcome:
    """Run a program that exists."""
    name = _short(words[0])
    if name in ("sh", "bash"):
        return _shell(words[2] if len(words) > 2 and words[1] == "-c" else given, given, surroundings)
    program = _PROGRAMS.get(name)
    return program(list(words[1:]), given, surroundings) if program is not None else Outcome()


def _short(path: str) -> str:
    for folder in _FOLDERS:
        if path.startswith(folder):
            return path.removeprefix(folder)
    return path


def _shell(script: str, given: str, surroundings: Surroundings) -> Outcome:
    total = Outcome()
    for part, needs in _commands(script):
        if needs and total.code:
            continue
        to_error = part.endswith(">&2")
        words = shlex.split(part.removesuffix(">&2"))
        if not words:
            continue
        if words[0] == "exit":
            total.code = int(words[1]) if len(words) > 1 and words[1].isdecimal() else total.code
            return total
        if not exists(words[0], surroundings):
            done = Outcome(127, err=f"sh: 1: {words[0]}: not found\n")
        else:
            done = run(words, given, surroundings)
        total.code = done.code
        total.seconds += done.seconds
        total.err += done.err + (done.out if to_error else "")
        total.out += "" if to_error else done.out
    return total


def _commands(script: str) -> list[tuple[str, bool]]:
    parts = re.split(r"(;|&&|\n)", script)
    return [
        (part.strip(), index > 0 and parts[index - 1] == "&&")
        for index, part in enumerate(parts)
        if index % 2 == 0 and part.strip()
    ]


def _echo(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    return Outcome(out=" ".join(words) + "\n")


def _cat(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    done = Outcome(out="" if words else given)
    for path in words:
        if path in surroundings.files:
            done.out += surroundings.files[path].decode("utf-8", "replace")
        else:
            done.code, done.err = 1, f"{done.err}cat: {path}: No such file or directory\n"
    return done


def _sleep(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    return Outcome(seconds=float(words[0]) if words else 0.0)


def _test(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    return Outcome(0 if len(words) > 1 and words[1] in surroundings.files else 1)


def _cloud_init(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    if words[:1] != ["status"]:
        return Outcome()
    status, detail = surroundings.boot_status()
    said = f"status: {status}\n"
    if "--long" in words or "-l" in words:
        enabled = "disabled-by-generator" if status == "disabled" else "enabled-by-generator"
        said += f"boot_status_code: {enabled}\ndetail:\n{detail}\n"
    return Outcome(1 if status == "error" else 0, said)


_PROGRAMS: dict[str, Callable[[list[str], str, Surroundings], Outcome]] = {
    "sh": lambda words, given, surroundings: Outcome(),
    "bash": lambda words, given, surroundings: Outcome(),
    "echo": _echo,
    "cat": _cat,
    "sleep": _sleep,
    "test": _test,
    "cloud-init": _cloud_init,
    "true": lambda words, given, surroundings: Outcome(),
    "false": lambda words, given, surroundings: Outcome(1),
    "id": lambda words, given, surroundings: Outcome(out="0\n" if "-u" in words else "uid=0(root) gid=0(root)\n"),
    "hostname": lambda words, given, surroundings: Outcome(out=f"{surroundings.hostname}\n"),
}
