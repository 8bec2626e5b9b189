"""What Nodes of a template will offer."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.infrastructure.proxmox.machine_template.capacity import architecture, capacity


def spec(**content: Any) -> Any:
    return PROXMOX_MACHINE_TEMPLATES.convert({"spec": {"template": {"spec": content}}}).spec.template.spec


def test_all_that_is_said_is_told_in_quantities() -> None:
    volume = {"bootVolume": {"disk": "scsi0", "sizeGb": 40}}
    found = capacity(spec(numSockets=2, numCores=4, memoryMiB=4096, disks=volume))
    assert found == {"cpu": "8", "memory": "4096Mi", "ephemeral-storage": "40Gi"}


def test_what_the_template_of_proxmox_decides_is_left_out() -> None:
    assert capacity(spec(numSockets=2)) == {}
    assert capacity(spec(memoryMiB=4096)) == {"memory": "4096Mi"}


def test_cores_alone_are_those_of_one_socket_so_that_a_group_can_grow_from_nothing() -> None:
    assert capacity(spec(numCores=4)) == {"cpu": "4"}


@pytest.mark.parametrize(("board", "expected"), [("", "amd64"), ("q35", "amd64"), ("virt", "arm64")])
def test_the_board_tells_the_architecture(board: str, expected: str) -> None:
    assert architecture(spec(firmware={"machine": board} if board else None)) == expected
