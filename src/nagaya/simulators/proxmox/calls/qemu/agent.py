"""What the guest agent in a machine is asked.

Whether it can be asked is found out in an order that clients see: is one configured, does the machine run, does anybody
answer. The last of these takes a few seconds to deny.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handler, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of
from nagaya.simulators.proxmox.failure import Failure, Unproxied
from nagaya.simulators.proxmox.guests.backend import Agent, AgentError
from nagaya.simulators.proxmox.qemu.actions.stopping import agent_answers

handlers = Handlers()

_AGENT = "/nodes/{node}/qemu/{vmid}/agent"
_COMMANDS = {
    "fsfreeze-freeze": "POST", "fsfreeze-status": "POST", "fsfreeze-thaw": "POST", "fstrim": "POST",
    "get-fsinfo": "GET", "get-host-name": "GET", "get-memory-block-info": "GET", "get-memory-blocks": "GET",
    "get-osinfo": "GET", "get-time": "GET", "get-timezone": "GET", "get-users": "GET", "get-vcpus": "GET",
    "info": "GET", "network-get-interfaces": "GET", "ping": "POST", "shutdown": "POST", "suspend-disk": "POST",
    "suspend-hybrid": "POST", "suspend-ram": "POST",
}  # fmt: skip
LARGEST_FILE = 16 << 20
_BASE64 = re.compile(r"[A-Za-z0-9+/=\r\n]*")


async def _agent(call: Call) -> Agent:
    host, vmid = host_of(call), call["vmid"]
    configuration = host.load(vmid)
    if configuration.get("agent") is None:
        raise Failure("No QEMU guest agent configured\n")
    guest = host.present(vmid)
    if guest.process is None:
        raise Failure(f"VM {vmid} is not running\n")
    if (agent := await agent_answers(host, guest)) is None:
        raise Failure("QEMU guest agent is not running\n")
    return agent


async def _ask(call: Call, command: str, arguments: Mapping[str, Any]) -> Any:
    agent = await _agent(call)
    try:
        return await agent.ask(command, arguments)
    except AgentError as error:
        if not error.description.isascii():
            # The daemon cannot send what is not in its alphabet, and the proxy sees it break off.
            raise Unproxied(596, "Broken pipe") from None
        raise Failure(f"Agent error: {error.description}\n") from None


async def _simple(call: Call, command: str) -> dict[str, Any]:
    agent = await _agent(call)
    try:
        return {"result": await agent.ask(command, {})}
    except AgentError as error:
        kind = "CommandNotFound" if error.description.endswith("has not been found") else "GenericError"
        return {"result": {"error": {"class": kind, "desc": error.description}}}


def _handler(command: str) -> Handler:
    async def ask(call: Call) -> dict[str, Any]:
        return await _simple(call, command)

    return ask


for _command, _method in _COMMANDS.items():
    handlers(_method, f"{_AGENT}/{_command}")(_handler(_command))


@handlers("POST", _AGENT)
async def generic(call: Call) -> dict[str, Any]:
    """Any of the simple commands, by name."""
    return await _simple(call, call["command"])


@handlers("POST", f"{_AGENT}/exec")
async def execute(call: Call) -> dict[str, Any]:
    """Start a program in the machine."""
    words = [str(word) for word in call.get("command") or []]
    given = call.get("input-data")
    if not words and given is None:
        raise Failure("command or input-data (or both) required\n")
    arguments: dict[str, Any] = {"path": words[0], "arg": words[1:]} if words else {}
    if given is not None:
        _check_bytes(given, "QemuServer/Agent.pm")
        arguments["input-data"] = given
    answer: dict[str, Any] = await _ask(call, "exec", arguments)
    return answer


@handlers("GET", f"{_AGENT}/exec-status")
async def executed(call: Call) -> dict[str, Any]:
    """How a program does. Once it is told that it has ended, it is forgotten."""
    answer = await _ask(call, "exec-status", {"pid": call["pid"]})
    return {name: int(value) if isinstance(value, bool) else value for name, value in answer.items()}


@handlers("GET", f"{_AGENT}/file-read")
async def read_file(call: Call) -> dict[str, Any]:
    """What is in a file of the machine."""
    content: bytes = await _ask(call, "file-read", {"path": call["file"]})
    start = call.get("offset") or 0
    part = content[start : start + min(call.get("count") or LARGEST_FILE, LARGEST_FILE)]
    plain = call.get("decode", True)
    answer: dict[str, Any] = {
        "content": part.decode("latin-1") if plain else base64.b64encode(part).decode(),
        "bytes-read": len(part),
    }
    if start + len(part) < len(content):
        answer["truncated"] = 1
    return answer


@handlers("POST", f"{_AGENT}/file-write")
async def write_file(call: Call) -> None:
    """Write a file of the machine."""
    given: str = call["content"]
    encoded = not call.get("encode", True)
    if not encoded:
        _check_bytes(given, "API2/Qemu/Agent.pm")
    good = not encoded or _BASE64.fullmatch(given) is not None
    content = b"" if not good else _decoded(given) if encoded else given.encode("latin-1")
    await _ask(call, "file-write", {"path": call["file"], "content": content})
    if not good:
        # By then the file is open, and empty.
        raise Failure(f"Agent error: Base64 data '{given}' contains invalid characters\n")


def _check_bytes(text: str, where: str) -> None:
    """Refuse letters that are no bytes: Perl cannot encode them."""
    if any(ord(letter) > 0xFF for letter in text):
        raise Failure(f"Wide character in subroutine entry at /usr/share/perl5/PVE/{where}.\n")


def _decoded(text: str) -> bytes:
    """As the agent decodes it: what is left over at the end counts for nothing."""
    data = text.replace("\r", "").replace("\n", "").partition("=")[0]
    data = data[: len(data) - (len(data) % 4 == 1)]
    return base64.b64decode(data + "=" * (-len(data) % 4))


@handlers("POST", f"{_AGENT}/set-user-password")
async def set_password(call: Call) -> dict[str, Any]:
    """Give a user of the machine another password."""
    arguments = {"username": call["username"], "password": call["password"], "crypted": bool(call.get("crypted"))}
    return {"result": await _ask(call, "set-user-password", arguments)}
