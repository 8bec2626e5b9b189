from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.access.rights import Caller, Rights, caller_of
from nagaya.simulators.proxmox.access.roles import built_in
from nagaya.simulators.proxmox.failure import Forbidden
from nagaya.simulators.proxmox.state.access import Access, Group, Token, User
from nagaya.simulators.proxmox.state.datacenter import Datacenter, Pool

ALICE = "alice@pve"
TOKEN = f"{ALICE}!t1"


def datacenter(*entries: tuple[str, str, str, str, bool], separated: bool = True) -> Datacenter:
    """Entries of the access control list: path, kind, id, role, propagate."""
    token = Token("secret", privilege_separation=separated)
    access = Access(
        users={ALICE: User(groups={"staff"}, tokens={"t1": token}), "root@pam": User(tokens={"t1": token})},
        groups={"staff": Group(), "others": Group()},
    )
    access.acl = {(path, kind, id, role): propagate for path, kind, id, role, propagate in entries}
    return Datacenter("lab", access=access, pools={"dev": Pool(vms={100}, storages={"store"})})


def rights(found: Datacenter, id: str = ALICE) -> Rights:
    return Rights(found, caller_of(id))


def test_without_entries_nobody_may_anything() -> None:
    assert rights(datacenter()).on("/vms/100") == {}


def test_a_role_is_passed_on_only_where_its_entry_says_so() -> None:
    passed_on = rights(datacenter(("/vms", "user", ALICE, "PVEVMUser", True)))
    kept = rights(datacenter(("/vms", "user", ALICE, "PVEVMUser", False)))
    assert passed_on.may("/vms/100", ["VM.Audit"])
    assert passed_on.on("/vms/100")["VM.Audit"] is True
    assert kept.may("/vms", ["VM.Audit"])
    assert kept.on("/vms")["VM.Audit"] is False
    assert not kept.may("/vms/100", ["VM.Audit"])


def test_an_entry_further_down_replaces_those_above() -> None:
    found = rights(
        datacenter(("/", "user", ALICE, "PVEAuditor", True), ("/vms/102", "user", ALICE, "PVEDatastoreUser", True))
    )
    assert found.may("/vms/101", ["VM.Audit"])
    assert not found.may("/vms/102", ["VM.Audit"])


def test_an_entry_further_down_that_is_not_for_this_path_replaces_nothing() -> None:
    found = rights(datacenter(("/", "user", ALICE, "PVEAuditor", True), ("/vms", "user", ALICE, "PVEVMAdmin", False)))
    assert set(found.on("/vms/100")) == set(built_in("9.2")["PVEAuditor"])


def test_an_entry_for_the_user_counts_before_those_of_groups() -> None:
    found = rights(
        datacenter(("/vms", "group", "staff", "PVEVMAdmin", True), ("/vms", "user", ALICE, "PVEVMUser", True))
    )
    assert not found.may("/vms/100", ["VM.Allocate"])


def test_roles_of_several_groups_add_up_and_those_of_foreign_groups_do_not_count() -> None:
    found = rights(
        datacenter(
            ("/", "group", "staff", "PVETemplateUser", True),
            ("/", "group", "staff", "PVEPoolUser", True),
            ("/", "group", "others", "Administrator", True),
        )
    )
    assert set(found.on("/")) == {"VM.Clone", "VM.Audit", "Pool.Audit"}


def test_no_access_takes_away_what_is_given_beside_it() -> None:
    found = rights(
        datacenter(("/vms/100", "user", ALICE, "NoAccess", True), ("/vms/100", "user", ALICE, "PVEVMAdmin", True))
    )
    assert found.on("/vms/100") == {}


def test_members_of_a_pool_are_reached_through_it_but_nothing_is_passed_on() -> None:
    found = rights(datacenter(("/pool/dev", "user", ALICE, "PVEAdmin", True)))
    assert found.on("/vms/100")["VM.Audit"] is False
    assert found.may("/storage/store", ["Datastore.AllocateSpace"])
    assert not found.may("/vms/101", ["VM.Audit"])


def test_no_access_on_a_pool_beats_rights_on_its_members_and_the_other_way_round() -> None:
    on_pool = datacenter(("/pool/dev", "user", ALICE, "NoAccess", True), ("/vms", "user", ALICE, "PVEVMAdmin", True))
    on_vm = datacenter(("/pool/dev", "user", ALICE, "PVEVMAdmin", True), ("/vms/100", "user", ALICE, "NoAccess", True))
    assert rights(on_pool).on("/vms/100") == {}
    assert rights(on_vm).on("/vms/100") == {}


def test_a_separated_token_has_what_both_it_and_its_user_have() -> None:
    found = datacenter(("/vms", "user", ALICE, "PVEVMUser", True), ("/vms/100", "token", TOKEN, "PVEVMAdmin", False))
    held = rights(found, TOKEN).on("/vms/100")
    assert set(held) == set(built_in("9.2")["PVEVMUser"])
    assert set(held.values()) == {False}


def test_a_token_without_separation_has_what_its_user_has() -> None:
    found = datacenter(("/vms", "user", ALICE, "PVEVMUser", True), separated=False)
    assert rights(found, TOKEN).on("/vms/100") == rights(found).on("/vms/100")


def test_a_token_that_does_not_exist_has_nothing() -> None:
    assert rights(datacenter(("/", "user", ALICE, "Administrator", True)), f"{ALICE}!gone").on("/") == {}


def test_root_has_everything_but_a_separated_token_of_root_only_its_own() -> None:
    found = datacenter(("/vms/100", "token", "root@pam!t1", "PVETemplateUser", True))
    assert set(rights(found, "root@pam").on("/anything")) == built_in("9.2")["Administrator"]
    assert set(rights(found, "root@pam!t1").on("/vms/100")) == {"VM.Clone", "VM.Audit"}
    assert rights(found, "root@pam!t1").on("/vms/101") == {}


def test_a_role_made_by_users_holds_what_they_put_in() -> None:
    found = datacenter(("/vms", "user", ALICE, "Mine", True))
    found.access.roles["Mine"] = frozenset({"VM.Audit"})
    assert rights(found).on("/vms/100") == {"VM.Audit": True}


def test_the_first_privilege_missing_is_named_and_all_of_which_one_would_do() -> None:
    found = rights(datacenter(("/vms", "user", ALICE, "PVETemplateUser", True)))
    with pytest.raises(Forbidden, match=r"Permission check failed \(/vms/100, VM.Allocate\)"):
        found.check("/vms/100", ["VM.Clone", "VM.Allocate", "VM.Backup"])
    with pytest.raises(Forbidden, match=r"\(/vms/100, VM.Allocate\|VM.Backup\)"):
        found.check("/vms/100", ["VM.Allocate", "VM.Backup"], any=True)
    found.check("/vms/100", ["VM.Allocate", "VM.Clone"], any=True)


def test_a_machine_to_come_is_judged_by_its_pool_or_itself_and_named_itself() -> None:
    found = rights(datacenter(("/pool/dev", "user", ALICE, "PVEVMAdmin", True)))
    found.check_machine(200, "dev", ["VM.Allocate"])
    with pytest.raises(Forbidden, match=r"\(/vms/200, VM.Allocate\)"):
        found.check_machine(200, None, ["VM.Allocate"])


def test_an_unknown_pool_is_a_missing_right_even_for_root() -> None:
    with pytest.raises(Forbidden, match=r"\(pool 'nosuch' does not exist\)"):
        rights(datacenter(), "root@pam").check_pool("nosuch")


def test_rights_on_one_vlan_open_its_bridge() -> None:
    path = "/sdn/zones/localnetwork/vmbr0"
    found = rights(datacenter((f"{path}/7", "user", ALICE, "PVESDNUser", True)))
    assert found.may_bridge("localnetwork", "vmbr0", ["SDN.Use"])
    assert not found.may_bridge("localnetwork", "vmbr1", ["SDN.Use"])


def test_who_may_allocate_a_machine_may_grant_rights_on_it() -> None:
    found = rights(datacenter(("/vms", "user", ALICE, "PVEVMAdmin", True)))
    assert found.may_grant("/vms/100")
    assert not found.may_grant("/vms")
    assert not found.may_grant("/storage/store")


def test_only_root_with_a_ticket_is_root() -> None:
    assert Caller("root@pam", ticket=True).root
    assert not Caller("root@pam", "t1").root


PATHS = ["/", "/vms", "/vms/100", "/vms/101", "/pool/dev", "/storage", "/storage/store"]
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(PATHS),
        st.sampled_from([("user", ALICE), ("group", "staff"), ("token", TOKEN)]),
        st.sampled_from(sorted(built_in("9.2"))),
        st.booleans(),
    ),
    max_size=8,
)


@given(ENTRIES, st.sampled_from(PATHS))
def test_a_separated_token_never_has_more_than_its_user(
    entries: list[tuple[str, tuple[str, str], str, bool]], path: str
) -> None:
    found = datacenter(*((where, *who, role, propagate) for where, who, role, propagate in entries))
    of_user, of_token = rights(found).on(path), rights(found, TOKEN).on(path)
    assert of_token.keys() <= of_user.keys()
    assert all(of_user[privilege] for privilege, passed_on in of_token.items() if passed_on)
