"""What is missing is found, with the line that grants it; what is enough is not complained about."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.missing import commands, named
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope
from nagaya.infrastructure.proxmox.privileges.preflight import preflight
from nagaya.infrastructure.proxmox.privileges.roles import INHERITED, ROLES, privileges
from nagaya.infrastructure.proxmox.privileges.setup import setup
from nagaya.simulators.proxmox.access.roles import built_in
from nagaya.simulators.proxmox.access.roles import privileges as known_to

NINE, EIGHT = (9, 2), (8, 4)
TOKEN = "nagaya@pve!nagaya"
SCOPE = Scope(pool="nagaya", storages=("local-lvm",), iso_storage="local", bridges=("vmbr0",))


def granted(release: tuple[int, int], scope: Scope = SCOPE, features: tuple[Feature, ...] = ()) -> Held:
    """What a token has that was set up for a scope."""
    made = setup(release, scope, features=features or (Feature.ALWAYS, Feature.ISO))
    by_path: dict[str, dict[str, bool]] = {}
    for grant in made.grants:
        by_path.setdefault(grant.path, {}).update(dict.fromkeys(made.roles[grant.role], grant.propagate))
    return Held(by_path)


@pytest.mark.parametrize("release", [NINE, EIGHT])
@pytest.mark.parametrize("scope", [SCOPE, Scope(), Scope(pool="a", template_pool="b"), Scope(templates=(9000,))])
def test_what_is_set_up_is_enough(release: tuple[int, int], scope: Scope) -> None:
    found = preflight(granted(release, scope), scope, release, TOKEN)
    assert found.missing == ()
    assert found.delivery == "iso"


@pytest.mark.parametrize(("release", "version"), [(NINE, "9.2"), (EIGHT, "8.4")])
def test_roles_hold_only_privileges_that_this_pve_has(release: tuple[int, int], version: str) -> None:
    for place in Place:
        assert {*privileges(place, release, tuple(Feature))} <= known_to(version)


@pytest.mark.parametrize("release", [NINE, EIGHT])
def test_each_privilege_that_is_taken_away_is_named_with_its_path_and_command(release: tuple[int, int]) -> None:
    whole = granted(release)
    extra = {"SDN.Audit", "VM.Clone", "VM.GuestAgent.FileRead"}
    for path, held in whole.by_path.items():
        for privilege in held:
            less = Held({**whole.by_path, path: {name: on for name, on in held.items() if name != privilege}})
            found = preflight(less, SCOPE, release, TOKEN)
            lacks = {(each.path, each.privilege) for each in found.missing}
            # Before PVE 9, whoever may ask the guest agent for addresses may run programs by it, too.
            if privilege in extra - {"VM.Clone"} or found.delivery == "native":
                assert not lacks
                continue
            assert lacks == {(path, privilege)}
            (only,) = found.missing
            assert f"pveum acl modify {path} --users nagaya@pve --tokens '{TOKEN}' --roles Nagaya" in only.command
            assert privilege in only.command


def test_capmox_86_the_rights_of_its_quick_start_are_not_enough_and_what_is_missing_is_named() -> None:
    admin = dict.fromkeys(built_in("9.2")["PVEVMAdmin"], True)
    found = preflight(Held({"/": admin}), SCOPE, NINE, "capmox@pve!capi")
    assert {(each.path, each.privilege) for each in found.missing} == {
        ("/", "Sys.Audit"),
        ("/nodes", "Sys.Audit"),
        ("/pool/nagaya", "Pool.Audit"),
        ("/storage/local-lvm", "Datastore.Audit"),
        ("/storage/local-lvm", "Datastore.AllocateSpace"),
        ("/sdn/zones/localnetwork/vmbr0", "SDN.Use"),
    }
    assert found.delivery == "native"


def test_only_machines_in_a_pool_need_the_right_to_see_pools() -> None:
    held = granted(NINE, Scope())
    without = {
        path: {name: on for name, on in each.items() if name != "Pool.Audit"} for path, each in held.by_path.items()
    }
    assert preflight(Held(without), Scope(), NINE, TOKEN).missing == ()


def test_an_administrator_lacks_nothing() -> None:
    admin = dict.fromkeys(known_to("9.2"), True)
    found = preflight(Held({"/": admin}), Scope(), NINE, "root@pam", tuple(Feature))
    assert found.missing == ()
    assert found.deliveries == {"iso", "native"}


def test_rights_somewhere_are_enough_for_what_the_connection_does_not_name() -> None:
    held = granted(NINE, Scope(pool="p", storages=("fast",), iso_storage="isos", bridges=("vmbr7",)))
    assert preflight(held, Scope(pool="p"), NINE, TOKEN).missing == ()


def test_a_right_on_the_tree_of_machines_that_is_not_passed_on_reaches_no_machine() -> None:
    held = granted(NINE, Scope())
    kept = Held({**held.by_path, "/vms": dict.fromkeys(held.by_path["/vms"], False)})
    assert ("/vms", "VM.Allocate") in {
        (each.path, each.privilege) for each in preflight(kept, Scope(), NINE, TOKEN).missing
    }


def test_boot_data_goes_by_the_agent_if_nothing_may_be_uploaded() -> None:
    native = granted(NINE, features=(Feature.ALWAYS, Feature.NATIVE))
    found = preflight(native, SCOPE, NINE, TOKEN)
    assert (found.missing, found.delivery) == ((), "native")
    neither = preflight(granted(NINE, features=(Feature.ALWAYS,)), SCOPE, NINE, TOKEN)
    assert neither.delivery == ""
    assert {each.path for each in neither.missing} == {"/storage/local", "/pool/nagaya"}


def test_the_role_at_the_root_reaches_nothing_below() -> None:
    assert Place.CLUSTER not in INHERITED
    made = setup(NINE, SCOPE)
    assert {each.propagate for each in made.grants if each.path == "/"} == {False}
    assert made.roles[ROLES[Place.CLUSTER]] == ("Sys.Audit",)


def test_a_role_at_a_path_has_one_command_whatever_is_missing_there() -> None:
    whole = granted(NINE)
    path = "/pool/nagaya"
    kept = {name: on for name, on in whole.by_path[path].items() if name == "VM.Audit"}
    found = preflight(Held({**whole.by_path, path: kept}), SCOPE, NINE, TOKEN)
    assert {"VM.Allocate", "VM.Config.CDROM"} <= {each.privilege for each in found.missing}
    (only,) = commands(found.missing)
    assert all(each.privilege in only for each in found.missing)
    assert "; VM.Clone, VM.Allocate on /pool/nagaya, to clone machines; " in named(found.missing)
    assert "VM.Config.CPU, VM.Config.Memory, VM.Config.Network, " in named(found.missing)
