from __future__ import annotations

from datetime import UTC, datetime

from nagaya.infrastructure.proxmox.client.trace import MACHINES, PER_CONNECTION, PER_MACHINE, Trace, Traced, redacted

AT = datetime(2026, 11, 1, tzinfo=UTC)


def test_what_is_remembered_is_bounded() -> None:
    trace = Trace()
    for vmid in range(100, 100 + MACHINES + 5):
        trace.add(Traced(AT, "GET", f"/nodes/pve1/qemu/{vmid}/config"))
    for _ in range(PER_CONNECTION + PER_MACHINE):
        trace.add(Traced(AT, "GET", "/nodes/pve1/qemu/900/config"))
    assert len(trace.calls()) == PER_CONNECTION
    assert len(trace.of_machine(900)) == PER_MACHINE
    assert trace.of_machine(100) == ()
    assert len(trace.of_machine(100 + MACHINES)) == 1


def test_long_values_are_cut_and_secret_ones_only_counted() -> None:
    shown = redacted("/nodes/a/qemu/1/agent/exec", {"description": "x" * 500, "command": ["a", "hush"], "pid": "7"})
    assert shown == {"description": "x" * 200 + "...", "command": "(6 characters)", "pid": "7"}
    assert redacted("/nodes/a/storage/b/upload", {"content": "iso"}) == {"content": "iso"}
    assert redacted("/nodes/a/qemu/1/agent/file-write", {"content": "iso"}) == {"content": "(3 characters)"}
