"""The place where something that does what machines do is plugged in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from nagaya.simulators.proxmox.qemu.cloud_init import BootData
from nagaya.simulators.proxmox.state.guest import Options


class AgentError(Exception):
    """What the agent in a machine answers when it cannot do something."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine at the moment it is switched on."""

    vmid: int
    node: str
    options: Options
    """Its configuration, which stays as it is until it is switched off."""
    system: str
    """The operating system on its boot disk; empty if there is none, and then nothing ever happens."""
    boot_data: BootData | None
    """What it finds in its drive with boot data, or in an ISO file of that kind."""
    powered_off: Callable[[], None] = field(repr=False, default=lambda: None)
    """To be called by the backend when the system has switched the machine off."""


class Agent(Protocol):
    """The guest agent of a machine."""

    async def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Run one of its commands, named without `guest-`; raises AgentError.

        `exec` takes path, arg and input-data and gives pid; `exec-status` takes pid and gives exited, exitcode,
        out-data and err-data, both as text; `file-read` takes path and gives bytes; `file-write` takes path and
        content.
        """


class GuestBackend(Protocol):
    """Does what machines do. Nothing here waits: work that takes time is the backend's own."""

    def power_on(self, machine: Machine) -> None:
        """It has been switched on."""

    def power_off(self, vmid: int) -> None:
        """It has no power any more."""

    def reset(self, vmid: int) -> None:
        """It begins anew, without having been asked."""

    def press_power_button(self, vmid: int) -> None:
        """It is asked to shut down, as ACPI does; a system that listens will switch it off some time later."""

    def pause(self, vmid: int, paused: bool) -> None:
        """It stands still, or goes on."""

    def moved(self, vmid: int, node: str) -> None:
        """It runs on another host from now on, and has not noticed."""

    def agent(self, vmid: int) -> Agent | None:
        """Who answers in it; None if nobody does."""

    async def close(self) -> None:
        """All of them lose their power."""
