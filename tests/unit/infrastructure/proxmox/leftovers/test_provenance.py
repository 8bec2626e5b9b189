"""Whether a reservation was made here, as the management API has it."""

from __future__ import annotations

from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.infrastructure.proxmox.leftovers.provenance import doubt
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

NAME = "demo-100"
RESERVATIONS = PROXMOX_VIRTUAL_MACHINES.path().strip("/")


def doubted(writer: str | None, phase: str = "Abandoned") -> str:
    """What is doubted of a reservation whose spec has this writer; None if the reservation is gone by now."""
    spec = {
        "datacenter": "demo",
        "vmid": 100,
        "machineRef": {"namespace": "fleet", "name": "a", "uid": "u-1"},
        "connectionRef": {"namespace": "fleet", "name": "pve"},
        "name": "a",
    }
    reservation = PROXMOX_VIRTUAL_MACHINES.convert(
        {"metadata": {"name": NAME}, "spec": spec, "status": {"phase": phase}}
    )

    async def main() -> str:
        server = FakeServer()
        if writer is not None:
            fields = [{"manager": writer, "fieldsV1": {"f:spec": {}}}]
            server.put(RESERVATIONS, "", NAME, spec=spec, metadata={"managedFields": fields})
        return await doubt(server.client(virtual_world()), reservation)

    return run(main())


def test_a_reservation_that_is_gone_is_not_doubted() -> None:
    assert doubted(None) == ""


def test_a_reservation_of_the_controllers_is_not_doubted() -> None:
    assert doubted("nagaya") == ""


def test_a_reservation_that_somebody_else_wrote_is_doubted() -> None:
    assert "but by clusterctl: it came with a move" in doubted("clusterctl")


def test_a_reservation_whose_machine_nobody_has_seen_being_deleted_is_doubted() -> None:
    for phase in ("Reserved", "Cloning", "Present"):
        assert "may have been moved to another management API" in doubted("nagaya", phase)
    for phase in ("Orphaned", "Destroying"):
        assert doubted("nagaya", phase) == ""
