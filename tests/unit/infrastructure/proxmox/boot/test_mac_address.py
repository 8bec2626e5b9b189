"""Hardware addresses that stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.boot.mac_address import derived


@given(st.text(), st.text())
def test_the_same_machine_and_device_have_the_same_one(identity: str, device: str) -> None:
    made = derived(identity, device)
    assert made == derived(identity, device)
    assert re.fullmatch("BC:24:11(:[0-9A-F]{2}){3}", made)


def test_machines_and_devices_have_different_ones() -> None:
    made = {derived(f"home/web-{machine}", f"net{device}") for machine in range(50) for device in range(2)}
    assert len(made) == 100
    assert derived("a", "bnet0") != derived("ab", "net0")


def test_none_is_given_that_another_machine_has() -> None:
    taken = [derived("a", "net0").lower()]
    taken.append(derived("a", "net0", taken))
    third = derived("a", "net0", taken)
    assert len({third.upper(), *(each.upper() for each in taken)}) == 3


def test_a_site_can_have_its_own_prefix() -> None:
    assert derived("a", "net0", prefix="02:00:5e").startswith("02:00:5E:")
    for wrong in ("", "02:00", "03:00:00", "zz:00:00", "02:00:00:00"):
        with pytest.raises(ValueError, match="three bytes"):
            derived("a", "net0", prefix=wrong)
