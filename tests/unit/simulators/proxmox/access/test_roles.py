from __future__ import annotations

from nagaya.simulators.proxmox.access.roles import built_in, privileges


def test_8_4_has_one_privilege_for_all_that_goes_through_the_guest_agent() -> None:
    assert "VM.Monitor" in privileges("8.4")
    assert "VM.Monitor" not in privileges("9.2")
    assert not any(privilege.startswith("VM.GuestAgent.") for privilege in privileges("8.4"))
    assert "VM.Monitor" in built_in("8.4")["PVEVMAdmin"]
    assert "VM.Monitor" not in built_in("8.4")["PVEVMUser"]


def test_an_administrator_has_everything_and_no_access_nothing() -> None:
    assert built_in("9.2")["Administrator"] == privileges("9.2")
    assert built_in("9.2")["NoAccess"] == frozenset()


def test_auditors_only_look() -> None:
    assert all(privilege.endswith(".Audit") for privilege in built_in("9.2")["PVEAuditor"])
