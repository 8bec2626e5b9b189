"""Faults that are ordered: whom they hit, and which there are."""

from __future__ import annotations

from uuid import UUID

from nagaya.api.simulated.faults import MachineFault, suffered


def test_a_fault_without_a_percentage_hits_everybody() -> None:
    faults = (MachineFault(stage="Boot", mode="Fail"), MachineFault(stage="Join", mode="Hang"))
    assert suffered(faults, "Boot", "a") == ("Fail",)
    assert suffered(faults, "Run", "a") == ()


def test_a_percentage_hits_about_that_many_and_always_the_same() -> None:
    fault = (MachineFault(stage="Boot", mode="Fail", percent=30),)
    uids = [str(UUID(int=number)) for number in range(2000)]
    hit = [uid for uid in uids if suffered(fault, "Boot", uid)]
    assert 500 < len(hit) < 700
    assert hit == [uid for uid in uids if suffered(fault, "Boot", uid)]
