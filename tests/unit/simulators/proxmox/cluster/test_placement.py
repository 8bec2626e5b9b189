from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.cluster.placement import candidates
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.world import World


def _datacenter(at: dict[int, str], **rules: dict[str, Any]) -> Datacenter:
    datacenter = demo(World())
    for vmid, node in at.items():
        datacenter.guests[vmid] = Guest(vmid, node)
        datacenter.ha.resources[f"vm:{vmid}"] = {"type": "vm"}
    datacenter.ha.rules = rules
    return datacenter


def test_the_emptiest_host_comes_first() -> None:
    assert candidates(_datacenter({1: "pve3", 2: "pve1", 3: "pve1", 4: "pve2"}), "vm:1") == ["pve3", "pve2", "pve1"]


def test_hosts_that_are_off_or_in_maintenance_take_nothing() -> None:
    datacenter = _datacenter({1: "pve1"})
    datacenter.nodes["pve1"].online = False
    datacenter.nodes["pve2"].maintenance = True
    assert candidates(datacenter, "vm:1") == ["pve3"]


def test_of_the_hosts_that_a_rule_names_those_of_the_highest_priority_are_taken() -> None:
    rule = {"type": "node-affinity", "resources": "vm:1", "nodes": "pve1:1,pve2:2,pve3:2"}
    datacenter = _datacenter({1: "pve1"}, r=rule)
    assert candidates(datacenter, "vm:1") == ["pve2", "pve3"]
    for name in ("pve2", "pve3"):
        datacenter.nodes[name].online = False
    assert candidates(datacenter, "vm:1") == ["pve1"]


def test_only_a_strict_rule_forbids_the_others() -> None:
    rule: dict[str, Any] = {"type": "node-affinity", "resources": "vm:1", "nodes": "pve1"}
    datacenter = _datacenter({1: "pve1"}, r=rule)
    datacenter.nodes["pve1"].online = False
    assert candidates(datacenter, "vm:1") == ["pve2", "pve3"]
    rule["strict"] = 1
    assert candidates(datacenter, "vm:1") == []


def test_machines_are_kept_apart_or_together() -> None:
    apart = {"type": "resource-affinity", "affinity": "negative", "resources": "vm:1,vm:2"}
    assert "pve2" not in candidates(_datacenter({1: "pve1", 2: "pve2"}, r=apart), "vm:1")
    together = {**apart, "affinity": "positive"}
    assert candidates(_datacenter({1: "pve1", 2: "pve2"}, r=together), "vm:1") == ["pve2"]
    assert "pve1" in candidates(_datacenter({1: "pve1", 2: "pve2"}, r={**together, "disable": 1}), "vm:1")
