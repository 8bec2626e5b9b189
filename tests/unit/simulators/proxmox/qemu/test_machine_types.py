from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import machine_types
from nagaya.simulators.proxmox.tasks.runner import Silence


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ("pc,viommu=intel", "to use Intel vIOMMU please set the machine type to q35"),
        ("viommu=intel", "to use Intel vIOMMU please set the machine type to q35"),
        ("q35,viommu=intel,aw-bits=40", "Intel vIOMMU supports only 39 or 48 bits as address width"),
        ("q35,aw-bits=39", "cannot set aw-bits if no vIOMMU is configured"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(machine: str, why: str) -> None:
    with pytest.raises(Failure, match=why):
        machine_types.check_machine(machine)


@pytest.mark.parametrize("machine", ["", "q35,viommu=intel,aw-bits=48", "pc,viommu=virtio,aw-bits=40", "q35"])
def test_parts_that_fit_are_taken(machine: str) -> None:
    machine_types.check_machine(machine)


@pytest.mark.parametrize(
    ("machine", "system", "pinned"),
    [
        ("", "win11", "pc-i440fx-10.0+pve1"),
        ("q35", "w2k8", "pc-q35-10.0+pve1"),
        ("q35,viommu=virtio", "win10", "pc-q35-10.0+pve1,viommu=virtio"),
        ("pc-q35-9.0", "win11", "pc-q35-9.0"),
        ("q35", "l26", "q35"),
        ("", "l26", ""),
        ("", None, ""),
    ],
)
def test_only_a_machine_for_windows_is_tied_to_a_version(machine: str, system: str | None, pinned: str) -> None:
    assert machine_types.pinned(machine, system, Silence()) == pinned


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (
            "pc-i440fx-11.0",
            r"Installed QEMU version '10\.0\.13' is too old to run machine type 'pc-i440fx-11\.0\+pve0'",
        ),
        (
            "pc-q35-10.0+pve2",
            r"max feature level for 10\.0 is pve1\) is too old to run machine type 'pc-q35-10\.0\+pve2'",
        ),
        ("pc-i440fx-9.0+pve1", r"max feature level for 9\.0 is pve0\)"),
    ],
)
def test_a_type_that_is_newer_than_the_host_is_refused(kind: str, why: str) -> None:
    with pytest.raises(Failure, match=why):
        machine_types.check_version(kind, "pve1")


@pytest.mark.parametrize("kind", ["", "pc", "q35", "pc-i440fx-10.0+pve1", "pc-q35-9.2+pve1", "pc-i440fx-4.1+pve2"])
def test_a_type_that_the_host_knows_is_taken(kind: str) -> None:
    machine_types.check_version(kind, "pve1")


@pytest.mark.parametrize(
    ("kind", "running"),
    [(None, "pc-i440fx-10.0+pve1"), ("q35", "pc-q35-10.0+pve1"), ("pc-q35-9.0", "pc-q35-9.0+pve0")],
)
def test_a_machine_runs_as_a_certain_version(kind: str | None, running: str) -> None:
    assert machine_types.running_type(kind) == running


def test_a_display_without_a_clipboard_is_refused() -> None:
    with pytest.raises(Failure, match="vga type serial0 is not compatible with VNC clipboard"):
        machine_types.check_clipboard("serial0,clipboard=vnc")
    for fitting in ("std,clipboard=vnc", "qxl2,clipboard=vnc", "serial0", "clipboard=vnc", None):
        machine_types.check_clipboard(fitting)
