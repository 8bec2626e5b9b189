"""Boot data without an image: options of the VM, and what the agent does."""

from __future__ import annotations

import hashlib
from ipaddress import ip_address, ip_interface
from urllib.parse import unquote

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.boot.native import (
    MARKER,
    RESTART,
    SEED,
    Marker,
    Run,
    Step,
    WriteFile,
    digest,
    erased,
    options,
    read_marker,
    steps,
)
from nagaya.infrastructure.proxmox.boot.network import Address, Network, Nic

KEY = "ssh-ed25519 AAAAC3Nz+/aC1 user@host"


def carried_out(planned: tuple[Step, ...]) -> dict[str, bytes]:
    """What the guest has at the end."""
    files: dict[str, bytes] = {}
    closed: set[str] = set()
    for step in planned:
        match step:
            case WriteFile(path, content):
                assert not path.startswith(SEED) or SEED in closed, "before the folder is closed, others can read it"
                files[path] = content
                assert len(content) <= 61440 // 4 * 3
            case Run(("chmod", _, *paths)):
                closed |= set(paths)
            case Run(("sh", "-c", 'cat "$@" > "$0"', path, *parts)):
                files[path] = b"".join(files[part] for part in parts)
            case Run(("rm", "-f", *paths)):
                for path in paths:
                    del files[path]
            case Run(("sha256sum", *paths), output):
                said = "".join(f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in paths)
                assert said == output
    assert files.keys() <= closed, "the agent makes files that all may write"
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
    files = carried_out(planned)
    switch = yaml.safe_load(files.pop("/etc/cloud/cloud.cfg.d/99-nagaya.cfg"))
    assert switch == {"datasource_list": ["NoCloud", "None"], "datasource": {"NoCloud": {"fs_label": None}}}
    assert files == {f"{SEED}/{name}": content or b"\n" for name, content in seed.items()}


def test_no_secret_is_in_a_command() -> None:
    planned = steps({"user-data": b"secret" * 20_000, "meta-data": b"m"})
    commands = [word for step in planned if isinstance(step, Run) for word in step.command]
    assert not any("secret" in word for word in commands)
    assert RESTART.command[:2] == ("cloud-init", "clean")


def test_a_marker_is_read_as_it_was_written() -> None:
    marker = Marker("u-1", digest({"user-data": b"x"}), 2, "boot", erased=True)
    assert marker.written().path == MARKER
    assert read_marker(marker.written().content.decode()) == marker


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", "null", "{}", '{"machine": "a"}', '{"machine":1,"digest":[],"restarts":"x"}']
)
def test_what_is_no_marker_says_nothing(text: str) -> None:
    assert read_marker(text) is None


def test_data_are_the_same_only_if_names_and_contents_are() -> None:
    assert digest({"a": b"1", "b": b"2"}) == digest({"b": b"2", "a": b"1"})
    assert digest({"a": b"1", "b": b"2"}) != digest({"a": b"2", "b": b"1"})


def test_what_takes_the_place_of_used_data_is_cloud_config_without_content() -> None:
    assert (erased().path, yaml.safe_load(erased().content)) == (f"{SEED}/user-data", None)
