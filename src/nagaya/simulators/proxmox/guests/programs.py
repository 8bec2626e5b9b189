"""A few programs, for the machines that only pretend: enough to try out what a guest agent can start.

Scripts are split at `;`, `&&` and line ends. Of a shell's language `$0`, `$@` and `> file` are understood besides;
anything else is taken as it stands.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nagaya.simulators.proxmox.guests.disk import GuestDisk

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
    disk: GuestDisk = field(default_factory=GuestDisk)
    """What programs change; `files` has more than is on it."""
    reboot: Callable[[], None] = lambda: None


def exists(path: str, surroundings: Surroundings) -> bool:
    """Whether there is such a program."""
    return _short(path) in _PROGRAMS or path in surroundings.files


def run(words: Sequence[str], given: str, surroundings: Surroundings) -> Outcome:
    """Run a program that exists."""
    name = _short(words[0])
    if name in ("sh", "bash"):
        of_words = len(words) > 2 and words[1] == "-c"
        return _shell(words[2] if of_words else given, given, surroundings, words[3:] if of_words else ())
    program = _PROGRAMS.get(name)
    return program(list(words[1:]), given, surroundings) if program is not None else Outcome()


def _short(path: str) -> str:
    for folder in _FOLDERS:
        if path.startswith(folder):
            return path.removeprefix(folder)
    return path


def _shell(script: str, given: str, surroundings: Surroundings, arguments: Sequence[str] = ()) -> Outcome:
    total = Outcome()
    for part, needs in _commands(script):
        if needs and total.code:
            continue
        to_error = part.endswith(">&2")
        words, target = _expanded(shlex.split(part.removesuffix(">&2")), arguments)
        if not words:
            continue
        if words[0] == "exit":
            total.code = int(words[1]) if len(words) > 1 and words[1].isdecimal() else total.code
            return total
        if not exists(words[0], surroundings):
            done = Outcome(127, err=f"sh: 1: {words[0]}: not found\n")
        else:
            done = run(words, given, surroundings)
        if target:
            surroundings.disk.files[target] = done.out.encode("utf-8", "surrogateescape")
            done.out = ""
        total.code = done.code
        total.seconds += done.seconds
        total.err += done.err + (done.out if to_error else "")
        total.out += "" if to_error else done.out
    return total


def _expanded(words: list[str], arguments: Sequence[str]) -> tuple[list[str], str]:
    """A command with its arguments put in, and the file that its output goes to."""
    put_in: list[str] = []
    for word in words:
        if word == "$@":
            put_in += arguments[1:]
        else:
            put_in.append(arguments[0] if word == "$0" and arguments else word)
    if len(put_in) > 2 and put_in[-2] == ">":
        return put_in[:-2], put_in[-1]
    return put_in, ""


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
            done.out += surroundings.files[path].decode("utf-8", "surrogateescape")
        else:
            done.code, done.err = 1, f"{done.err}cat: {path}: No such file or directory\n"
    return done


def _sleep(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    return Outcome(seconds=float(words[0]) if words else 0.0)


def _test(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    return Outcome(0 if len(words) > 1 and words[1] in surroundings.files else 1)


def _tail(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    count = int(words[1]) if words[:1] == ["-n"] else 10
    done = _cat(words[2:] if words[:1] == ["-n"] else words, given, surroundings)
    done.out = "".join(done.out.splitlines(keepends=True)[-count:])
    return done


def _make_folders(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    folder = words[-1].rstrip("/")
    surroundings.disk.folders.update(folder[: match.start()] or "/" for match in re.finditer("/", f"{folder}/"))
    return Outcome()


def _change_mode(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    missing = [each for each in words[1:] if each not in surroundings.files and each not in surroundings.disk.folders]
    said = "".join(f"chmod: cannot access '{each}': No such file or directory\n" for each in missing)
    return Outcome(1 if missing else 0, err=said)


def _remove(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    for path in words:
        surroundings.disk.files.pop(path, None)
    return Outcome()


def _install(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    source, target = words[-2:]
    if source not in surroundings.files:
        return Outcome(1, err=f"install: cannot stat '{source}': No such file or directory\n")
    surroundings.disk.files[target] = surroundings.files[source]
    return Outcome()


def _sums(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    done = Outcome()
    for path in words:
        if path in surroundings.files:
            done.out += f"{hashlib.sha256(surroundings.files[path]).hexdigest()}  {path}\n"
        else:
            done.code, done.err = 1, f"{done.err}sha256sum: {path}: No such file or directory\n"
    return done


def _cloud_init(words: list[str], given: str, surroundings: Surroundings) -> Outcome:
    if words[:1] == ["clean"]:
        surroundings.disk.forget_instance()
        if "--reboot" in words or "-r" in words:
            surroundings.reboot()
        return Outcome()
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
    "tail": _tail,
    "mkdir": _make_folders,
    "chmod": _change_mode,
    "rm": _remove,
    "install": _install,
    "sha256sum": _sums,
    "true": lambda words, given, surroundings: Outcome(),
    "false": lambda words, given, surroundings: Outcome(1),
    "id": lambda words, given, surroundings: Outcome(out="0\n" if "-u" in words else "uid=0(root) gid=0(root)\n"),
    "hostname": lambda words, given, surroundings: Outcome(out=f"{surroundings.hostname}\n"),
}
