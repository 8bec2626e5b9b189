"""The guest agent of a machine that is namespaces: what it tells, it has looked up in the machine."""

from __future__ import annotations

import asyncio
import itertools
import json
import platform
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from nagaya.simulators.netns.command import CommandFailed, Done
from nagaya.simulators.netns.machine import Machine as Box
from nagaya.simulators.proxmox.guests.backend import AgentError

_PATIENCE: Final = 600.0
_READABLE: Final = 'test -r "$1" && exec cat "$1"'
_ADDRESSES: Final = ("ip", "-statistics", "-json", "address", "show")
_COUNTED: Final = {"bytes": "bytes", "packets": "packets", "errs": "errors", "dropped": "dropped"}
_PRESENT: Final = 'command -v "$1" > /dev/null'

Answer = Callable[[Mapping[str, Any]], Awaitable[Any]]


class NamespaceAgent:
    """Answers for one machine."""

    def __init__(self, box: Box, shut_down: Callable[[], None], restart: Callable[[], None]) -> None:
        """`shut_down` and `restart` are what the machine does when a program in it asks for it."""
        self._box = box
        self._shut_down = shut_down
        self._restart = restart
        self._pids = itertools.count(100)
        self._programs: dict[int, asyncio.Task[Done]] = {}
        self._commands: dict[str, Answer] = {
            "ping": self._ping,
            "info": self._info,
            "get-host-name": self._host_name,
            "get-osinfo": self._system,
            "get-time": self._time,
            "network-get-interfaces": self._interfaces,
            "exec": self._exec,
            "exec-status": self._exec_status,
            "file-read": self._read,
            "file-write": self._write,
            "shutdown": self._shutdown,
        }

    async def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Answer as the agent."""
        if command not in self._commands:
            raise AgentError(f"The command guest-{command} has not been found")
        try:
            return await self._commands[command](arguments)
        except CommandFailed as error:
            raise AgentError(str(error)) from error

    async def _ping(self, arguments: Mapping[str, Any]) -> Any:
        return {}

    async def _info(self, arguments: Mapping[str, Any]) -> Any:
        commands = [
            {"enabled": True, "name": f"guest-{name}", "success-response": name != "shutdown"}
            for name in sorted(self._commands)
        ]
        return {"version": "7.2.19", "supported_commands": commands}

    async def _host_name(self, arguments: Mapping[str, Any]) -> Any:
        return {"host-name": (await self._said("cat", "/proc/sys/kernel/hostname")).strip()}

    async def _time(self, arguments: Mapping[str, Any]) -> Any:
        return int(await self._said("date", "+%s%N"))

    async def _system(self, arguments: Mapping[str, Any]) -> Any:
        lines = (await self._said("cat", "/etc/os-release")).splitlines()
        given = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        facts = {name: " ".join(shlex.split(value)) for name, value in given.items()}
        names = {
            "id": "ID",
            "name": "NAME",
            "pretty-name": "PRETTY_NAME",
            "version": "VERSION",
            "version-id": "VERSION_ID",
        }
        kernel = {"kernel-release": platform.release(), "kernel-version": platform.version()}
        told = {shown: facts[name] for shown, name in names.items() if name in facts}
        return {**told, **kernel, "machine": platform.machine()}

    async def _interfaces(self, arguments: Mapping[str, Any]) -> Any:
        return [_interface(link) for link in json.loads(await self._said(*_ADDRESSES))]

    async def _exec(self, arguments: Mapping[str, Any]) -> Any:
        path = str(arguments.get("path") or "")
        if (await self._box.run(["sh", "-c", _PRESENT, "sh", path])).code:
            shown = f"Failed to execute child process \u201c{path}\u201d (No such file or directory)"
            raise AgentError(f"Guest agent command failed, error was '{shown}'")
        words = [path, *map(str, arguments.get("arg", []))]
        given = str(arguments.get("input-data") or "").encode()
        pid = next(self._pids)
        if _restarts(words):
            self._restart()
            return {"pid": pid}
        run = self._box.run(words, given, timeout=_PATIENCE, errors_apart=True)
        self._programs[pid] = asyncio.get_running_loop().create_task(run)
        # Whoever never asks how it went does not want to know.
        self._programs[pid].add_done_callback(lambda task: task.cancelled() or task.exception())
        return {"pid": pid}

    async def _exec_status(self, arguments: Mapping[str, Any]) -> Any:
        pid = int(arguments["pid"])
        if pid not in self._programs:
            raise AgentError("Invalid parameter 'pid'")
        if not self._programs[pid].done():
            return {"exited": False}
        done = self._programs.pop(pid).result()
        # A program that a signal ended has none but that.
        end = {"exitcode": done.code} if done.code >= 0 else {"signal": -done.code}
        answer: dict[str, Any] = {"exited": True, **end}
        if done.output:
            answer |= {"out-data": done.text, "out-truncated": False}
        if done.errors:
            answer |= {"err-data": done.errors.decode(errors="replace"), "err-truncated": False}
        return answer

    async def _read(self, arguments: Mapping[str, Any]) -> Any:
        path = str(arguments["path"])
        done = await self._box.run(["sh", "-c", _READABLE, "sh", path], errors_apart=True)
        if done.code:
            raise AgentError(f"failed to open file '{path}' (mode: 'r'): No such file or directory")
        return done.output

    async def _write(self, arguments: Mapping[str, Any]) -> Any:
        path = str(arguments["path"])
        if (await self._box.run(["sh", "-c", 'cat > "$1"', "sh", path], bytes(arguments["content"]))).code:
            raise AgentError(f"failed to open file '{path}' (mode: 'wb'): No such file or directory")

    async def _shutdown(self, arguments: Mapping[str, Any]) -> Any:
        self._shut_down()

    async def _said(self, *command: str) -> str:
        done = await self._box.run(command, errors_apart=True)
        if done.code:
            raise AgentError(f"{shlex.join(command)} failed: {done.errors.decode(errors='replace').strip()}")
        return done.text


def _restarts(words: Sequence[str]) -> bool:
    """Whether a program restarts its machine. Namespaces have no power button of their own."""
    match [words[0].rpartition("/")[2], *words[1:]]:
        case ["reboot", *_] | ["systemctl", "reboot", *_]:
            return True
        case ["cloud-init", "clean", *options]:
            return "--reboot" in options or "-r" in options
        case _:
            return False


def _interface(link: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": link["ifname"], "hardware-address": link.get("address", "00:00:00:00:00:00")}
    addresses = [
        {
            "ip-address": each["local"],
            "ip-address-type": "ipv6" if each["family"] == "inet6" else "ipv4",
            "prefix": each["prefixlen"],
        }
        for each in link.get("addr_info", ())
    ]
    if counted := link.get("stats64"):
        found["statistics"] = {
            f"{way}-{shown}": counted[way][name] for way in ("rx", "tx") for shown, name in _COUNTED.items()
        }
    return {**found, "ip-addresses": addresses} if addresses else found
