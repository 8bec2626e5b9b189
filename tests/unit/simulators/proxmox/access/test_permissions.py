from __future__ import annotations

from typing import Any

import pytest

from nagaya.simulators.proxmox.access.permissions import require
from nagaya.simulators.proxmox.access.rights import Caller, Rights, caller_of
from nagaya.simulators.proxmox.failure import Failure, Forbidden
from nagaya.simulators.proxmox.state.access import Access, Group, User
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.surface import Permissions

ALICE = "alice@pve"


def tried(
    permissions: Permissions | None,
    parameters: dict[str, Any] | None = None,
    *entries: tuple[str, str],
    caller: Caller | None = None,
) -> None:
    """Alice, with roles on paths, calls something that asks for permissions."""
    access = Access(
        users={ALICE: User(groups={"staff"}), "bob@pve": User(groups={"staff"}), "carol@pve": User()},
        groups={"staff": Group()},
        roles={"M": frozenset({"User.Modify"})},
    )
    access.acl = {(path, "user", ALICE, role): True for path, role in entries}
    rights = Rights(Datacenter("lab", access=access), caller or caller_of(ALICE))
    require(permissions, rights, parameters or {}, access)


def check(*check: Any) -> Permissions:
    return Permissions(check=check)


CLONE = check("and", ("perm", "/vms/{vmid}", ("VM.Clone",)), ("or", ("perm", "/vms/{newid}", ("VM.Allocate",)),
              ("perm", "/pool/{pool}", ("VM.Allocate",), "require_param", "pool")))  # fmt: skip


def test_what_is_for_all_is_for_everyone_known() -> None:
    tried(Permissions(user="all"))
    with pytest.raises(Forbidden, match=r"\(user != null\)"):
        tried(Permissions(user="all"), caller=Caller(""))


def test_what_is_for_the_world_needs_no_credentials() -> None:
    tried(Permissions(user="world"), caller=Caller(""))


def test_what_says_nothing_is_for_root_alone() -> None:
    tried(None, caller=Caller("root@pam", ticket=True))
    with pytest.raises(Forbidden, match=r"\(user != root@pam\)"):
        tried(None)


def test_paths_are_made_from_parameters_and_a_missing_one_is_a_dash() -> None:
    audit = check("perm", "/vms/{vmid}", ("VM.Audit",))
    tried(audit, {"vmid": "100"}, ("/vms/100", "PVEAuditor"))
    with pytest.raises(Forbidden, match=r"\(/vms/101, VM.Audit\)"):
        tried(audit, {"vmid": "101"}, ("/vms/100", "PVEAuditor"))
    with pytest.raises(Forbidden, match=r"\(/vms/-, VM.Audit\)"):
        tried(audit)


def test_a_path_that_cannot_be_one_is_refused_without_a_name() -> None:
    with pytest.raises(Forbidden, match=r"\(, VM.Audit\)"):
        tried(check("perm", "/vms/{vmid}", ("VM.Audit",)), {"vmid": "a b"})


def test_one_of_several_privileges_can_do() -> None:
    either = check("perm", "/nodes/{node}", ("Sys.Modify", "Sys.Audit"), "any", 1)
    tried(either, {"node": "pve1"}, ("/nodes", "PVEAuditor"))
    with pytest.raises(Forbidden, match=r"\(/nodes/pve1, Sys.Modify\|Sys.Audit\)"):
        tried(either, {"node": "pve1"})


def test_a_clone_needs_the_source_and_a_place_to_be() -> None:
    source, target = ("/vms/9000", "PVETemplateUser"), {"vmid": "9000", "newid": "100", "pool": "dev"}
    tried(CLONE, target, source, ("/pool/dev", "PVEVMAdmin"))
    tried(CLONE, target, source, ("/vms/100", "PVEVMAdmin"))
    with pytest.raises(Forbidden, match=r"\(/vms/9000, VM.Clone\)"):
        tried(CLONE, target, ("/vms/100", "PVEVMAdmin"))


def test_when_none_of_several_ways_is_open_nothing_is_named() -> None:
    with pytest.raises(Forbidden) as refused:
        tried(CLONE, {"vmid": "9000", "newid": "100"}, ("/vms/9000", "PVETemplateUser"), ("/pool/-", "PVEVMAdmin"))
    assert refused.value.message == "Permission check failed\n"


OWN_PASSWORD = check(
    "or", ("userid-param", "self"), ("and", ("userid-param", "Realm.AllocateUser"), ("userid-group", ("User.Modify",)))
)


def test_everyone_may_change_themselves() -> None:
    tried(OWN_PASSWORD, {"userid": ALICE})


def test_inside_an_or_an_and_names_what_is_missing() -> None:
    with pytest.raises(Forbidden, match=r"\(/access/realm/pve, Realm.AllocateUser\)"):
        tried(OWN_PASSWORD, {"userid": "bob@pve"})


def test_a_malformed_user_is_no_question_of_rights() -> None:
    with pytest.raises(Failure, match="value 'bob' does not look like a valid user name"):
        tried(OWN_PASSWORD, {"userid": "bob"})


MODIFY = check("userid-group", ("User.Modify",))


def test_users_are_reached_through_their_groups() -> None:
    tried(MODIFY, {"userid": "bob@pve"}, ("/access/groups/staff", "M"))
    tried(MODIFY, {"userid": "carol@pve"}, ("/access/groups", "M"))
    with pytest.raises(Forbidden):
        tried(MODIFY, {"userid": "carol@pve"}, ("/access/groups/staff", "M"))
    with pytest.raises(Failure, match="no such user"):
        tried(MODIFY, {"userid": "nobody@pve"}, ("/access/groups", "M"))


def test_a_new_user_must_be_put_into_groups_that_the_caller_rules() -> None:
    create = check("userid-group", ("User.Modify",), "groups_param", "create")
    tried(create, {"userid": "new@pve", "groups": "staff"}, ("/access/groups/staff", "M"))
    with pytest.raises(Forbidden, match=r"\(/access/groups, User.Modify\)"):
        tried(create, {"userid": "new@pve"}, ("/access/groups/staff", "M"))
    with pytest.raises(Forbidden, match=r"\(/access/groups/other, User.Modify\)"):
        tried(create, {"userid": "new@pve", "groups": "staff,other"}, ("/access/groups/staff", "M"))


def test_granting_rights_needs_a_right_on_the_path() -> None:
    grant = check("perm-modify", "{path}")
    tried(grant, {"path": "/vms/100/"}, ("/vms/100", "PVEVMAdmin"))
    with pytest.raises(Forbidden, match=r"\(/vms/100, Permissions.Modify\|VM.Allocate\)"):
        tried(grant, {"path": "/vms/100"})
