"""The example of a cluster whose workers are on Proxmox VE, with what machines of this computer need otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Any

import yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "proxmox-hosted-control-plane.yaml"
CLUSTER = "light"
DEPLOYMENT = "light-workers"
FIRST, LAST = 100, 119
"""Of the network of the machines, the addresses that the cluster may have. The host of the machines gives out others by
itself."""

Manifest = dict[str, Any]


def addresses(gateway: IPv4Address) -> tuple[IPv4Address, ...]:
    """What the pool of the cluster holds."""
    network = IPv4Interface(f"{gateway}/24").network
    return tuple(network[number] for number in range(FIRST, LAST + 1))


def example(connection: str, version: str, gateway: IPv4Address, *, pool: bool) -> list[Manifest]:
    """The objects, with one worker. Addresses come from a pool of the cluster, or as in the example by DHCP."""
    found: dict[str, Manifest] = {each["kind"]: each for each in yaml.safe_load_all(EXAMPLE.read_text())}
    # Each API server of the control plane is a process of this computer: one is enough to join.
    found["HostedControlPlane"]["spec"] |= {"version": version, "replicas": 1}
    place = found["ProxmoxCluster"]["spec"]
    place["connectionRef"] = {"name": connection}
    if pool:
        given = addresses(gateway)
        del place["addressing"]
        place["ipv4Config"] = {"addresses": [f"{given[0]}-{given[-1]}"], "prefix": 24, "gateway": str(gateway)}
        place["dnsServers"] = [str(gateway)]
    workers = found["MachineDeployment"]["spec"]
    workers["replicas"] = 1
    workers["template"]["spec"]["version"] = version
    # As everybody has to write it whose machines have the first version of control groups.
    _registration(found)["ignorePreflightErrors"] = ["SystemVerification"]
    return [*found.values()]


def _registration(found: Mapping[str, Manifest]) -> Manifest:
    spec: Manifest = found["KubeadmConfigTemplate"]["spec"]["template"]["spec"]
    registration: Manifest = spec.setdefault("joinConfiguration", {}).setdefault("nodeRegistration", {})
    return registration
