"""Operating systems that a boot disk can hold, as far as the guest agent tells of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class System:
    """One of them."""

    id: str
    name: str
    version: str
    kernel: str
    kernel_version: str
    pretty_name: str = ""
    agent: bool = True
    """Whether the guest agent is installed."""

    def information(self) -> dict[str, str]:
        """What the agent says when it is asked for the system."""
        return {
            "id": self.id,
            "name": self.name,
            "pretty-name": self.pretty_name or f"{self.name} {self.version}",
            "version": self.version,
            "version-id": self.version.partition(" ")[0],
            "kernel-release": self.kernel,
            "kernel-version": self.kernel_version,
            "machine": "x86_64",
        }


_DEBIAN_KERNEL = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.190-1 (2026-10-16)"
_KNOWN = {
    system.id: system
    for system in (
        System("oracle", "Oracle Guest", "1", "6.1.0-54-cloud-amd64", _DEBIAN_KERNEL),
        System(
            "debian", "Debian GNU/Linux", "12 (bookworm)", "6.1.0-54-cloud-amd64", _DEBIAN_KERNEL,
            "Debian GNU/Linux 12 (bookworm)",
        ),
        System(
            "ubuntu", "Ubuntu", "24.04.3 LTS (Noble Numbat)", "6.8.0-85-generic",
            "#85-Ubuntu SMP PREEMPT_DYNAMIC Thu Sep 18 15:26:59 UTC 2025", "Ubuntu 24.04.3 LTS",
        ),
    )
}  # fmt: skip


def find(name: str) -> System:
    """The system of that name; one that is not known is some Linux."""
    return _KNOWN.get(name) or System(name, name.capitalize(), "1", "6.1.0-54-cloud-amd64", _DEBIAN_KERNEL)
