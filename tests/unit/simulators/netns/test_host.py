from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from nagaya.simulators.netns import equipment
from nagaya.simulators.netns.host import CannotHost, NetnsHost


async def test_a_host_without_what_machines_need_says_what_and_how(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    lacks = ("containerd", "ctr")
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name in lacks else f"/usr/bin/{name}")
    monkeypatch.setattr(equipment, "plugin_folder", lambda _: None)
    with pytest.raises(CannotHost) as refused:
        await NetnsHost(tmp_path).open()
    assert str(refused.value) == (
        "Machines are namespaces, which only root may make: run it as root. "
        "Programs are missing: install containerd, containernetworking-plugins (the names are Debian's)."
    )


async def test_one_folder_belongs_to_one_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(equipment, "missing", lambda _: [])
    with (tmp_path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        host = NetnsHost(tmp_path)
        with pytest.raises(CannotHost, match="another process has machines"):
            await host.open()
        await host.close()


@pytest.mark.parametrize("name", ["", "M1", "a/b", "../x", "-a", "a b", "x" * 64])
async def test_names_that_are_no_host_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a machine"):
        await NetnsHost(tmp_path).create(name)


async def test_an_address_outside_of_the_network_is_refused(tmp_path: Path) -> None:
    host = NetnsHost(tmp_path)
    for address in ("10.0.0.1", str(host.gateway)):
        with pytest.raises(ValueError, match="not a free address"):
            await host.create("m1", address)
    assert not host.machines
