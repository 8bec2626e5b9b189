"""Calls to the guest agent inside a machine. Until it runs, all raise AgentNotReady, after about 3 s."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from nagaya.infrastructure.proxmox.client.calls import Calls, Parameters, path_of
from nagaya.infrastructure.proxmox.client.errors import AgentFailed, Evidence

T = TypeVar("T", list[Any], dict[str, Any])
LARGEST_WRITE: Final = 60 * 1024
"""Characters that one file-write takes."""
PATIENCE: Final = 30.0
FIRST_LOOK: Final = 0.2
NEXT_LOOK: Final = 1.0


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface as the guest has it."""

    name: str
    mac: str
    addresses: tuple[str, ...]
    """With the length of the prefix: 192.0.2.7/24. Empty while it has none."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A program in the guest. How it ended is told once, and then forgotten by the agent."""

    exited: bool
    code: int | None = None
    output: str = ""
    errors: str = ""


class Agent:
    """The agents of a data center's machines."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def ping(self, node: str, vmid: int) -> None:
        """Return if it answers. Raises AgentNotReady."""
        await self._calls.post(_path(node, vmid, "ping"))

    async def interfaces(self, node: str, vmid: int) -> tuple[Interface, ...]:
        """The network interfaces, `lo` included."""
        data = await self._calls.record(_path(node, vmid, "network-get-interfaces"))
        return tuple(_interface(each) for each in _result(data, list))

    async def system(self, node: str, vmid: int) -> Mapping[str, str]:
        """What system runs there: id, name, version, ..."""
        data = await self._calls.record(_path(node, vmid, "get-osinfo"))
        return {str(name): str(value) for name, value in _result(data, dict).items()}

    async def execute(self, node: str, vmid: int, command: Sequence[str], *, stdin: str = "") -> int:
        """Start a program; returns its pid. Needs VM.GuestAgent.Unrestricted."""
        given = {"command": list(command), "input-data": stdin or None}
        return int((await self._calls.call("POST", _path(node, vmid, "exec"), given)).record()["pid"])

    async def execution(self, node: str, vmid: int, pid: int) -> Execution:
        """How a program fares. Raises AgentFailed for a pid whose end was told before."""
        data = await self._calls.record(_path(node, vmid, "exec-status"), {"pid": pid})
        code = data.get("exitcode")
        return Execution(
            bool(int(data.get("exited") or 0)),
            None if code is None else int(code),
            str(data.get("out-data") or ""),
            str(data.get("err-data") or ""),
        )

    async def run(self, node: str, vmid: int, command: Sequence[str], *, patience: float = PATIENCE) -> Execution:
        """Start a program and wait for its end: asked after 0.2 s, then every second. One that has not ended in time is
        returned as it is, and goes on."""
        pid = await self.execute(node, vmid, command)
        rest = FIRST_LOOK
        while True:
            await asyncio.sleep(rest)
            done = await self.execution(node, vmid, pid)
            patience -= rest
            if done.exited or patience <= 0:
                return done
            rest = NEXT_LOOK

    async def read(self, node: str, vmid: int, file: str) -> str:
        """A file's content, the first 16 MiB of it. Raises AgentFailed if there is none."""
        data = await self._calls.record(_path(node, vmid, "file-read"), {"file": file})
        return str(data.get("content") or "")

    async def write(self, node: str, vmid: int, file: str, content: str) -> None:
        """Replace a file. Raises ValueError for more than `LARGEST_WRITE`."""
        if len(content) > LARGEST_WRITE:
            raise ValueError(f"{file} has {len(content)} characters; the agent takes {LARGEST_WRITE} at once")
        await self._calls.post(_path(node, vmid, "file-write"), {"file": file, "content": content})

    async def write_bytes(self, node: str, vmid: int, file: str, content: bytes) -> None:
        """Replace a file by bytes. Encoded here: Proxmox VE would encode characters. Raises ValueError for too many."""
        encoded = base64.b64encode(content).decode()
        if len(encoded) > LARGEST_WRITE:
            raise ValueError(f"{file} has {len(content)} bytes; the agent takes {LARGEST_WRITE // 4 * 3} at once")
        given: Parameters = {"file": file, "content": encoded, "encode": False}
        await self._calls.post(_path(node, vmid, "file-write"), given)


def _path(node: str, vmid: int, what: str) -> str:
    return path_of("nodes", node, "qemu", vmid, "agent", what)


def _result(data: Mapping[str, Any], wanted: type[T]) -> T:
    """What the agent said, which may be nothing. Raises AgentFailed."""
    found = data.get("result") or wanted()
    if not isinstance(found, wanted):
        said = "the agent answered something that its command does not answer"
        raise AgentFailed(Evidence("GET", "the agent", message=said))
    return found


def _interface(data: Mapping[str, Any]) -> Interface:
    addresses = data.get("ip-addresses") or ()
    return Interface(
        str(data.get("name", "")),
        str(data.get("hardware-address", "")).lower(),
        tuple(f"{each['ip-address']}/{each['prefix']}" for each in addresses),
    )
