"""What the HA manager is told of machines, until nothing is missing any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.high_availability import NEGATIVE, POSITIVE, HaResource, HaRule
from nagaya.infrastructure.proxmox.client.rows import Host
from nagaya.infrastructure.proxmox.machine.high_availability import Lacking, lacking, rule_name
from nagaya.infrastructure.proxmox.machine.seen import Managed, Objects, Seen
from nagaya.infrastructure.proxmox.machine.steps import Bind, Manage, Unmanage
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from support.builders import NOW

HERE = Found(Presence.OURS, "pve1", running=True)


def seen(ha: dict[str, Any] | None, managed: Managed | None, *, vmid: int = 100, hosts: int = 3) -> Seen:
    metadata = {
        "namespace": "fleet",
        "name": f"m{vmid}",
        "uid": f"u-{vmid}",
        "labels": {"cluster.x-k8s.io/cluster-name": "c"},
    }
    spec: dict[str, Any] = {"virtualMachineID": vmid, **({"ha": ha} if ha is not None else {})}
    reference = {"namespace": "fleet", "name": "c"}
    whose = {"namespace": "fleet", "name": f"m{vmid}", "uid": f"u-{vmid}"}
    reservation = PROXMOX_VIRTUAL_MACHINES.convert(
        {
            "metadata": {"name": f"demo-{vmid}"},
            "spec": {"datacenter": "demo", "vmid": vmid, "machineRef": whose, "connectionRef": reference, "name": "m"},
        }
    )
    machine = PROXMOX_MACHINES.convert({"metadata": metadata, "spec": spec})
    # Nothing here asks it anything.
    link = Link(cast(Proxmox, None), "demo", NamespacedConnectionReference(namespace="fleet", name="c"))
    snapshot = Snapshot(NOW, 0, hosts={f"pve{number}": Host(f"pve{number}", True) for number in range(1, hosts + 1)})
    return Seen(Objects(machine, None, None, None, reservation), NOW, link, "", snapshot, HERE, managed=managed)


def test_nothing_is_told_of_a_machine_that_does_not_ask_for_it() -> None:
    assert lacking(seen(None, None), replace(HERE, ha_state="started")) is None
    assert lacking(seen({"enabled": False}, None), HERE) is None


def test_a_machine_that_is_not_to_be_managed_is_taken_away() -> None:
    found = lacking(seen({"enabled": False}, None), replace(HERE, ha_state="started"))
    assert found is not None
    assert found.step == Unmanage()


def test_a_machine_is_added_with_all_that_it_says() -> None:
    ha = {"enabled": True, "group": "fast", "maxRestart": 2, "maxRelocate": 0}
    found = lacking(seen(ha, Managed(None)), HERE)
    assert found is not None
    options: dict[str, str | int] = {"state": "started", "group": "fast", "max_restart": 2, "max_relocate": 0}
    assert found.step == Manage(options, new=True)


def test_only_what_differs_is_changed_and_a_state_is_left_to_people() -> None:
    ha = {"enabled": True, "maxRestart": 2}
    assert lacking(seen(ha, Managed(HaResource(100, "stopped", max_restart=2))), HERE) is None
    found = lacking(seen(ha, Managed(HaResource(100, max_restart=1))), HERE)
    assert found is not None
    assert found.step == Manage({"max_restart": 2})


def test_what_cannot_be_told_is_an_error() -> None:
    found = lacking(seen({"enabled": True}, Managed(None, why="It may not be asked.")), HERE)
    assert found == Lacking("It may not be asked.")
    missing = lacking(seen({"enabled": True, "rules": ["r1"]}, Managed(HaResource(100))), HERE)
    assert missing is not None
    assert (missing.step, missing.blocks) == (None, True)


def test_a_rule_keeps_what_others_have_put_there() -> None:
    rule = HaRule("r1", "node-affinity", frozenset({7}), digest="d", others=("ct:8",))
    found = lacking(seen({"enabled": True, "rules": ["r1"]}, Managed(HaResource(100), {"r1": rule})), HERE)
    assert found is not None
    assert found.step == Bind(replace(rule, vmids=frozenset({7, 100})))


def test_one_machine_alone_needs_no_rule() -> None:
    alone = Managed(HaResource(100), kin=frozenset({100}))
    assert lacking(seen({"enabled": True, "affinity": "Separate"}, alone), HERE) is None


@pytest.mark.parametrize(("said", "affinity"), [("Separate", NEGATIVE), ("Together", POSITIVE)])
def test_the_second_machine_brings_the_rule(said: str, affinity: str) -> None:
    both = Managed(HaResource(100), kin=frozenset({100, 101}))
    found = lacking(seen({"enabled": True, "affinity": said}, both), HERE)
    assert found is not None
    assert isinstance(found.step, Bind)
    assert (found.step.new, found.step.rule.affinity, found.step.rule.vmids) == (True, affinity, frozenset({100, 101}))


def test_a_rule_with_another_meaning_is_changed() -> None:
    wanted = seen({"enabled": True, "affinity": "Together"}, None)
    name = rule_name(wanted.machine)
    rule = HaRule(name, "resource-affinity", frozenset({100, 101}), NEGATIVE)
    found = lacking(replace(wanted, managed=Managed(HaResource(100), {name: rule}, frozenset({100, 101}))), HERE)
    assert found is not None
    assert isinstance(found.step, Bind)
    assert found.step.rule.affinity == POSITIVE


def test_the_name_of_a_rule_is_one_that_proxmox_ve_takes() -> None:
    machine = seen({"enabled": True}, None).machine
    name = rule_name(machine)
    assert name == "nagaya-fleet-c-worker-" + name[-8:]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 5), st.permutations(range(8)))
def test_machines_that_come_in_any_order_share_one_rule_that_proxmox_ve_takes(
    count: int, hosts: int, order: list[int]
) -> None:
    """Each machine in turn does what it lacks; at the end nobody lacks anything that could be done."""
    resources: set[int] = set()
    rules: dict[str, HaRule] = {}
    vmids = [100 + number for number in order if number < count]
    for vmid in [*vmids, *vmids]:
        for _ in range(5):
            known = Managed(HaResource(vmid) if vmid in resources else None, dict(rules), frozenset(resources))
            found = lacking(seen({"enabled": True, "affinity": "Separate"}, known, vmid=vmid, hosts=hosts), HERE)
            if found is None or found.step is None:
                break
            if isinstance(found.step, Manage):
                resources.add(vmid)
            elif isinstance(found.step, Bind):
                rule = found.step.rule
                assert 2 <= len(rule.vmids) <= hosts
                assert rule.vmids <= resources
                rules[rule.name] = rule
        else:
            raise AssertionError("it never ends")
    expected = min(count, hosts)
    assert sum(len(rule.vmids) for rule in rules.values()) == (expected if expected > 1 else 0)
