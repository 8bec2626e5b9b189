"""Boot data without an image: options of the VM, and what the agent does."""

from __future__ import annotations

import base64
from ipaddress import ip_address, ip_interface
from urllib.parse import unquote

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.boot.native import SEED, Run, Step, WriteFile, options, steps
from nagaya.infrastructure.proxmox.boot.network import Address, Network, Nic

KEY = "ssh-ed25519 AAAAC3Nz+/aC1 user@host"


def carried_out(planned: tuple[Step, ...]) -> dict[str, bytes]:
    """What the guest has at the end."""
    files: dict[str, bytes] = {}
    for step in planned:
        match step:
            case WriteFile(path, content):
                files[path] = content
                assert len(str(step.parameters()["content"])) <= 61440
                assert base64.b64decode(str(step.parameters()["content"])) == content
            case Run(("sh", "-c", 'cat "$@" > "$0"', path, *parts)):
                files[path] = b"".join(files[part] for part in parts)
            case Run(("rm", "-f", *paths)):
                for path in paths:
                    del files[path]
    return files


def test_the_drive_gets_what_it_has_room_for() -> None:
    first = Nic(
        "net0",
        "BC:24:11:00:00:01",
        (
            Address(ip_interface("10.0.0.9/24"), ip_address("10.0.0.1"), 100),
            Address(ip_interface("2001:db8::9/64"), ip_address("2001:db8::1")),
            Address(ip_interface("10.0.0.10/24")),
        ),
        dns_servers=("10.0.0.1", "10.0.0.2"),
        dns_search=("home.example",),
    )
    second = Nic("net1", "BC:24:11:00:00:02", dhcp4=True, dhcp6=True, dns_servers=("10.0.0.1",))
    third = Nic("net2", "BC:24:11:00:00:03")
    assert options(Network((first, second, third)), "ops", [KEY]) == {
        "citype": "nocloud",
        "ciupgrade": 0,
        "ipconfig0": "ip=10.0.0.9/24,gw=10.0.0.1,ip6=2001:db8::9/64,gw6=2001:db8::1",
        "ipconfig1": "ip=dhcp,ip6=dhcp",
        "nameserver": "10.0.0.1 10.0.0.2",
        "searchdomain": "home.example",
        "ciuser": "ops",
        "sshkeys": "ssh-ed25519%20AAAAC3Nz%2B%2FaC1%20user%40host",
    }


def test_keys_are_one_to_a_line() -> None:
    made = options(Network(()), ssh_keys=[f" {KEY}\n", "", "ssh-rsa B\r\nssh-rsa C\n"])
    assert unquote(str(made["sshkeys"])).split("\n") == [KEY, "ssh-rsa B", "ssh-rsa C"]
    assert "+" not in str(made["sshkeys"])
    assert "sshkeys" not in options(Network(()), ssh_keys=["\n"])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 200_000))
def test_the_agent_writes_the_whole_seed_however_large(size: int) -> None:
    seed = {"user-data": bytes(range(256)) * (size // 256) + b"x" * (size % 256), "meta-data": b"m"}
    planned = steps(seed)
    assert planned[0] == Run(("mkdir", "-p", "-m", "0700", SEED))
    assert planned[-1] == Run(("cloud-init", "clean", "--logs", "--reboot"), restarts=True)
    files = carried_out(planned)
    switch = yaml.safe_load(files.pop("/etc/cloud/cloud.cfg.d/99-nagaya.cfg"))
    assert switch == {"datasource_list": ["NoCloud", "None"], "datasource": {"NoCloud": {"fs_label": None}}}
    assert files == {f"{SEED}/{name}": content for name, content in seed.items()}
