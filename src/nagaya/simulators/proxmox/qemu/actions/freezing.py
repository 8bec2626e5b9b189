"""File systems that hold still while the disks of a running machine are copied or a snapshot of them is taken.

Only the agent in the machine can do that. Why it is not asked is always told; that it refuses is told too, and stops
nothing.
"""

from __future__ import annotations

from nagaya.simulators.proxmox.guests.backend import Agent, AgentError
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.stopping import agent_answers, agent_enabled
from nagaya.simulators.proxmox.state.guest import Guest, Options
from nagaya.simulators.proxmox.tasks.runner import Log

_SKIPPED = "skipping guest filesystem freeze -"


async def freezer(host: Host, guest: Guest, section: Options, log: Log) -> Agent | None:
    """The agent to be asked, if there is anything for it to do."""
    if not _wanted(section):
        log.say(f"{_SKIPPED} disabled in VM options")
        return None
    if (agent := await agent_answers(host, guest)) is None:
        log.say(f"{_SKIPPED} agent configured but not running?")
        return None
    try:
        frozen = await agent.ask("fsfreeze-status", {}) == "frozen"
    except AgentError as error:
        log.say(f"unable to check guest fs freeze status - Agent error: {error.description}")
        return agent
    if frozen:
        log.say(f"{_SKIPPED} already frozen")
        return None
    return agent


async def freeze(agent: Agent, log: Log) -> None:
    """Nothing is written from now on."""
    try:
        await agent.ask("fsfreeze-freeze", {})
    except AgentError as error:
        log.say(f"unable to freeze guest fs - {error.description}")


async def thaw(agent: Agent, log: Log, *, prefix: str = "") -> None:
    """Everything goes on."""
    try:
        await agent.ask("fsfreeze-thaw", {})
    except AgentError as error:
        log.say(f"{prefix}Agent error: {error.description}")


def _wanted(section: Options) -> bool:
    return agent_enabled(section) and options.parts("agent", str(section["agent"])).get("freeze-fs", True) is not False
