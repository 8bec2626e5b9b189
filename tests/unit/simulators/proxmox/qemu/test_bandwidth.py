from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.access.rights import Rights, caller_of
from nagaya.simulators.proxmox.layouts.lab import lab
from nagaya.simulators.proxmox.qemu.actions.bandwidth import Bandwidth
from support.subtest_cases import subtest_cases


def between(user: str, operation: str, wanted: int | None, storage: str | None, everywhere: str | None) -> int | None:
    datacenter = lab()
    if storage:
        datacenter.storages["store"].options["bwlimit"] = storage
    if everywhere:
        datacenter.options["bwlimit"] = everywhere
    limits = Bandwidth(Rights(datacenter, caller_of(user)), datacenter, operation, wanted)
    return limits.between(["store", None, "store"])


@subtest_cases(
    ("operation", "wanted", "storage", "everywhere", "limit"),
    [
        ("clone", None, None, None, None),
        ("clone", None, "clone=100,default=50", "clone=10", 100),
        ("move", None, "clone=100,default=50", "clone=10", 50),
        ("move", None, "clone=100", "move=10", 10),
        ("clone", 30, "clone=100", None, 30),
        ("clone", 300, "clone=100", None, 100),
        ("clone", 0, "clone=100", None, 100),
        ("clone", 300, None, "default=20", 20),
    ],
)
def test_the_nearest_limit_holds_and_the_caller_can_only_lower_it(
    operation: str, wanted: int | None, storage: str | None, everywhere: str | None, limit: int | None
) -> None:
    assert between("alice@pve", operation, wanted, storage, everywhere) == limit


@pytest.mark.parametrize(("wanted", "limit"), [(300, 300), (0, 0), (None, 100)])
def test_who_may_change_limits_may_overrule_them(wanted: int | None, limit: int | None) -> None:
    assert between("root@pam", "clone", wanted, "clone=100", "default=20") == limit
