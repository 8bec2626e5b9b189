"""Boot data where no ISO may be uploaded: Proxmox VE's own cloud-init drive first, then the rest by the guest agent.

The drive has room for a host name, keys and simple networks, but not for user data of ours. It gets the guest so far
that the agent answers. Then the same NoCloud seed that an ISO would have is written into the guest, the drive is
taken out of cloud-init's sight, and the guest starts as if for the first time.

Running programs by the agent takes the privilege VM.GuestAgent.Unrestricted, and an agent that lets them be run: that
of some distributions has it switched off.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import yaml

from nagaya.infrastructure.proxmox.boot.network import Network, Nic

SEED: Final = "/var/lib/cloud/seed/nocloud"
_SWITCH: Final = "/etc/cloud/cloud.cfg.d/99-nagaya.cfg"
_AT_ONCE: Final = 61440 // 4 * 3
"""Bytes that one call can write: Proxmox VE takes 61440 characters of base64."""


def options(
    network: Network,
    user: str = "",
    ssh_keys: Iterable[str] = (),
) -> Mapping[str, str | int]:
    """The options of the VM."""
    made: dict[str, str | int] = {"citype": "nocloud", "ciupgrade": 0}
    for nic in network.nics:
        if config := _ipconfig(nic):
            made[f"ipconfig{nic.device.removeprefix('net')}"] = config
    if servers := _once(server for nic in network.nics for server in nic.dns_servers):
        made["nameserver"] = " ".join(servers)
    if domains := _once(domain for nic in network.nics for domain in nic.dns_search):
        made["searchdomain"] = " ".join(domains)
    if user:
        made["ciuser"] = user
    if keys := [line.strip() for key in ssh_keys for line in key.splitlines() if line.strip()]:
        # Proxmox VE decodes it once more after the form: a blank must be %20, + stays +.
        made["sshkeys"] = quote("\n".join(keys), safe="")
    return made


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A file to write by the agent."""

    path: str
    content: bytes

    def parameters(self) -> Mapping[str, str | int]:
        """For agent/file-write. Encoded here: Proxmox VE would encode characters and not bytes."""
        return {"file": self.path, "content": base64.b64encode(self.content).decode(), "encode": 0}


@dataclass(frozen=True, slots=True)
class Run:
    """A program to run by the agent."""

    command: tuple[str, ...]
    restarts: bool = False
    """Whether the guest restarts by it, so that nobody will say how it ended."""


Step = WriteFile | Run


def steps(files: Mapping[str, bytes]) -> tuple[Step, ...]:
    """What is done by the agent, in this order. Doing all of it again does no harm until the last step is done."""
    made: list[Step] = [Run(("mkdir", "-p", "-m", "0700", SEED)), Run(("chmod", "0700", SEED))]
    for name, content in files.items():
        made += _written(f"{SEED}/{name}", content)
    switch = {"datasource_list": ["NoCloud", "None"], "datasource": {"NoCloud": {"fs_label": None}}}
    made.append(WriteFile(_SWITCH, yaml.safe_dump(switch, sort_keys=False).encode()))
    made.append(Run(("cloud-init", "clean", "--logs", "--reboot"), restarts=True))
    return tuple(made)


def _written(path: str, content: bytes) -> list[Step]:
    if len(content) <= _AT_ONCE:
        return [WriteFile(path, content)]
    parts = [content[start : start + _AT_ONCE] for start in range(0, len(content), _AT_ONCE)]
    names = [f"{path}.part{number}" for number in range(len(parts))]
    made: list[Step] = [WriteFile(name, part) for name, part in zip(names, parts, strict=True)]
    made.append(Run(("sh", "-c", 'cat "$@" > "$0"', path, *names)))
    made.append(Run(("rm", "-f", *names)))
    return made


def _ipconfig(nic: Nic) -> str:
    """What fits: one address of each family, and no more than a gateway. The seed has the rest."""
    values: dict[str, str] = {}
    for version, suffix, dhcp in ((4, "", nic.dhcp4), (6, "6", nic.dhcp6)):
        fixed = next((each for each in nic.addresses if each.address.version == version), None)
        if fixed is not None:
            values[f"ip{suffix}"] = str(fixed.address)
            if fixed.gateway is not None:
                values[f"gw{suffix}"] = str(fixed.gateway)
        elif dhcp:
            values[f"ip{suffix}"] = "dhcp"
    return ",".join(f"{name}={value}" for name, value in values.items())


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
