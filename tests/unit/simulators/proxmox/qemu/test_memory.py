from __future__ import annotations

from typing import Any

import pytest

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.memory import check_memory
from nagaya.simulators.proxmox.qemu.shares import clamped


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"memory": "2048"}, "NUMA needs to be enabled for memory hotplug"),
        ({"memory": "512", "numa": 1}, "minimum memory must be 1024MB"),
        ({"memory": "2048", "numa": 1, "numa0": "cpus=0,memory=2048"}, "cannot enable memory hotplugging with custom"),
        ({"memory": "600000", "numa": 1}, "Total memory is bigger than 524288MB"),
        ({"memory": "2048", "numa": 1, "virtiofs0": "dirid=share"}, "does not work in combination with virtio-fs"),
    ],
)
def test_memory_that_cannot_be_plugged_in_is_refused(section: dict[str, Any], why: str) -> None:
    with pytest.raises(Failure, match=why):
        check_memory(section, pluggable=True)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"memory": "64", "numa": 1, "numa0": "cpus=0,memory=32"}, "total memory for NUMA nodes must be equal"),
        ({"memory": "64", "numa": 1, "numa1": "cpus=0"}, "missing NUMA node1 memory value"),
        (
            {"memory": "64", "numa": 1, "numa0": "cpus=0,memory=64,hostnodes=0"},
            "you need to define a policy for hostnode 0",
        ),
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(section: dict[str, Any], why: str) -> None:
    with pytest.raises(Failure, match=why):
        check_memory(section, pluggable=False)


def test_other_layouts_are_taken() -> None:
    check_memory({"memory": "64"}, pluggable=False)
    check_memory({"memory": "64", "numa0": "cpus=0,memory=32"}, pluggable=False)
    check_memory({"memory": "64", "numa": 1, "numa0": "cpus=0,memory=64"}, pluggable=False)
    check_memory({"memory": "600000", "numa": 1, "cpu": "host"}, pluggable=True)


def test_shares_are_brought_into_the_range_of_the_hosts_control_groups() -> None:
    assert [clamped(units, 1) for units in (1, 2, 262144)] == [2, 2, 262144]
    assert [clamped(units, 2) for units in (1, 10000, 262144)] == [1, 10000, 10000]
