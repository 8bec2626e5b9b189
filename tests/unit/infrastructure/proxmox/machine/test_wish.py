"""A machine's wish for a host: what it says itself goes before what its cluster says, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.machine.wish import wish
from nagaya.infrastructure.proxmox.placement import Rules, Spread, Wish

MIB, GIB = 1 << 20, 1 << 30
NOTHING = Snapshot({}, {}, {}, {})
NARROWED = {"placement": {"storages": ["fast", "slow"]}}


def wished(machine: dict[str, Any], cluster: dict[str, Any], storage: str = "") -> Wish:
    metadata = {"namespace": "fleet", "name": "a", "uid": "u"}
    return wish(
        PROXMOX_MACHINES.convert({"metadata": metadata, "spec": {"templateID": 9, "sourceNode": "pve1", **machine}}),
        None,
        PROXMOX_CLUSTERS.convert({"metadata": metadata, "spec": cluster}),
        NOTHING,
        storage=storage,
    )


def test_a_machine_and_a_cluster_that_say_nothing_have_the_usual_rules() -> None:
    made = wished({}, {})
    assert made.rules == Rules()
    assert made.allowed == frozenset()


def test_what_a_machine_says_takes_nothing_else_away_from_what_its_cluster_says() -> None:
    cluster = {
        "schedulerHints": {"memoryAdjustment": 300},
        "placement": {
            "deniedNodes": ["pve9"],
            "spread": "Required",
            "overcommit": {"cpuPercent": 400, "memoryPercent": 90},
            "reserve": {"memoryMiB": 2048, "storageGb": 10},
        },
    }
    shared = wished({}, cluster).rules
    assert shared == Rules(90, 400, 2048 * MIB, 10 * GIB, Spread.REQUIRED)
    own = wished({"placement": {"overcommit": {"memoryPercent": 50}, "reserve": {"storageGb": 20}}}, cluster)
    assert own.rules == Rules(50, 400, 2048 * MIB, 20 * GIB, Spread.REQUIRED)
    assert own.denied == {"pve9"}


def test_memory_is_given_away_as_the_hints_say_where_no_rule_does() -> None:
    assert wished({}, {"schedulerHints": {"memoryAdjustment": 0}}).rules.memory_percent == 0
    assert wished(
        {"placement": {"overcommit": {"cpuPercent": 200}}}, {"schedulerHints": {"memoryAdjustment": 150}}
    ).rules == (Rules(150, 200))


def test_a_target_counts_more_than_allowed_hosts_and_those_of_the_machine_more_than_the_clusters() -> None:
    cluster = {"allowedNodes": ["pve1"]}
    assert wished({}, cluster).allowed == {"pve1"}
    assert wished({"allowedNodes": ["pve2"]}, cluster).allowed == {"pve2"}
    assert wished({"allowedNodes": ["pve2"], "target": "pve3"}, cluster).allowed == {"pve3"}


@pytest.mark.parametrize(
    ("machine", "cluster", "expected"),
    [
        ({}, {}, "usual"),
        ({"full": True}, {}, "usual"),
        (NARROWED, {}, ""),
        ({}, NARROWED, ""),
        ({"storage": "own"}, {}, "own"),
        ({"storage": "own"}, NARROWED, "own"),
        ({"full": False}, {}, ""),
    ],
    ids=[
        "nothing said",
        "full clone",
        "machine chooses among storages",
        "cluster chooses among storages",
        "own storage",
        "own storage among storages",
        "linked clone",
    ],
)
def test_the_storage_of_the_connection_is_for_full_clones_for_which_nobody_names_another(
    machine: dict[str, Any], cluster: dict[str, Any], expected: str
) -> None:
    assert wished(machine, cluster, "usual").storage == expected
