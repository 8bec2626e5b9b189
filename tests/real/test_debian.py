"""What `make debian` has unpacked runs on this computer, although nothing of it is installed."""

from __future__ import annotations

import os
import subprocess

import pytest

from support.debian import needed

PROGRAMS = {
    "containerd": "--version",
    "ctr": "--version",
    "runc": "--version",
    "ip": "-Version",
    "iptables": "--version",
    "ip6tables": "--version",
    "ebtables": "--version",
    "conntrack": "--version",
    "ethtool": "--version",
    "initdb": "--version",
    "postgres": "--version",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unpacked_program_finds_all_that_it_needs(name: str) -> None:
    folder = needed()
    done = subprocess.run(
        [folder / "bin" / name, PROGRAMS[name]],
        env={"PATH": os.defpath, "LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "error while loading" not in done.stderr


def test_plugins_of_the_container_network_are_there() -> None:
    folder = needed()
    assert {"bridge", "host-local", "loopback"} <= {*os.listdir(folder / "root" / "usr" / "lib" / "cni")}
