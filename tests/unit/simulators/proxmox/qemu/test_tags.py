from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.access.rights import Rights, caller_of
from nagaya.simulators.proxmox.failure import Forbidden
from nagaya.simulators.proxmox.qemu import tags
from nagaya.simulators.proxmox.state.access import User
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.guest import Guest
from support.subtest_cases import subtest_cases


def datacenter(**options: object) -> Datacenter:
    made = Datacenter("lab", options=options)
    made.access.users["ops@pve"] = User()
    made.access.roles["Tagger"] = frozenset({"VM.Config.Options", "VM.Audit"})
    made.access.acl["/vms", "user", "ops@pve", "Tagger"] = True
    made.guests[200] = Guest(200, "pve1", {"tags": "known"})
    return made


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, "blue;red"),
        ({"tag-style": "ordering=config"}, "red;blue"),
        ({"tag-style": "case-sensitive=1"}, "Red;blue;red"),
    ],
)
def test_tags_are_kept_in_the_style_of_the_data_center(options: dict[str, str], kept: str) -> None:
    assert tags.unique("Red,blue red;blue", datacenter(**options)) == kept


@subtest_cases(
    ("options", "old", "new", "refused"),
    [
        ({}, "", "anything", None),
        ({"registered-tags": "prod"}, "", "prod,dev", "prod"),
        ({"registered-tags": "prod"}, "prod", "", "prod"),
        ({"registered-tags": "prod"}, "prod", "prod,dev", None),
        ({"user-tag-access": "user-allow=none"}, "", "dev", "dev"),
        ({"user-tag-access": "user-allow=list,user-allow-list=dev;test"}, "", "dev", None),
        ({"user-tag-access": "user-allow=list,user-allow-list=dev;test"}, "", "other", "other"),
        ({"user-tag-access": "user-allow=existing"}, "", "known", None),
        ({"user-tag-access": "user-allow=existing"}, "", "unknown", "unknown"),
    ],
)
def test_some_tags_need_the_right_to_change_the_data_center(
    options: dict[str, str], old: str, new: str, refused: str | None
) -> None:
    made = datacenter(**options)
    rights = Rights(made, caller_of("ops@pve"))
    if refused is None:
        tags.check(100, old, new, rights, made)
        return
    with pytest.raises(Forbidden) as raised:
        tags.check(100, old, new, rights, made)
    assert raised.value.reason == f"Permission check failed (/, Sys.Modify for modifying tag '{refused}')"
    tags.check(100, old, new, Rights(made, caller_of("root@pam")), made)
