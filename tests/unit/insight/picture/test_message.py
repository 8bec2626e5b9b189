"""Messages of conditions on one line."""

from __future__ import annotations

import pytest

from nagaya.insight.picture.message import one_line


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("", ""),
        ("The VM is started\non pve1.", "The VM is started on pve1."),
        ("* Version v1.36.3, v1.37.1 required", "Version v1.36.3, v1.37.1 required"),
        (
            "* InfrastructureReady: The machine boots.\n* NodeHealthy: Waiting for a Node",
            "InfrastructureReady: The machine boots; NodeHealthy: Waiting for a Node",
        ),
        (
            "* WorkersAvailable:\n  * MachineDeployment a: 0 of 1\n  * MachineDeployment b: 0 of 2\n* Deleting: soon",
            "WorkersAvailable: MachineDeployment a: 0 of 1; MachineDeployment b: 0 of 2; Deleting: soon",
        ),
    ],
)
def test_a_list_becomes_a_sentence(message: str, told: str) -> None:
    assert one_line(message) == told
