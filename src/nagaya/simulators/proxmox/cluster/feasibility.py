"""Which rules of high availability could never be kept, and why.

Rules are looked at together: two that are fine by themselves may contradict each other, and then both are at fault. One
that is disabled counts for nothing. All complaints are about the machines of a rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from nagaya.simulators.proxmox.verification import split_list

Rule = Mapping[str, Any]
Complaints = dict[str, list[str]]

_ONCE = "resource '{}' is already used in another node affinity rule"
_FEW = "rule is ineffective as there are less than two resources"
_MANY = "rule defines more resources than available nodes"
_SHARED = "rule shares two or more resources with a {} resource affinity rule"
_RANKED = "resources are in node affinity rules with multiple priorities"
_RANKING = "resources are in a resource affinity rule and cannot be in a node affinity rule with multiple priorities"
_TORN = "resources are in multiple node affinity rules"
_TEARING = (
    "at least one resource is in a positive resource affinity rule and there are other resources in at least one other"
    " node affinity rule already"
)
_CRAMPED = "two or more resources are restricted to less nodes than available to the resources"
_CRAMPING = (
    "at least one resource is in a negative resource affinity rule and this rule would restrict these to less nodes"
    " than available to the resources"
)


def complaints(rules: Mapping[str, Rule], nodes: Collection[str]) -> Complaints:
    """What is wrong with each rule that cannot be kept, in PVE's order of checks."""
    enabled = {name: rule for name, rule in rules.items() if not rule.get("disable")}
    placed = {name: rule for name, rule in enabled.items() if rule["type"] == "node-affinity"}
    related = {name: rule for name, rule in enabled.items() if rule["type"] == "resource-affinity"}
    together = {name: rule for name, rule in related.items() if rule["affinity"] == "positive"}
    apart = {name: rule for name, rule in related.items() if rule["affinity"] == "negative"}
    found: Complaints = defaultdict(list)
    for name, why in [
        *_used_twice(placed),
        *((name, _FEW) for name in sorted(related) if len(members(related[name])) < 2),
        *((name, _MANY) for name in sorted(apart) if len(members(apart[name])) > len(nodes)),
        *_contradicting(together, apart),
        *_ranked(related, placed),
        *_torn(together, placed),
        *_cramped(apart, placed),
    ]:
        found[name].append(why)
    return dict(found)


def members(rule: Rule) -> set[str]:
    """The machines of a rule."""
    return set(split_list(str(rule["resources"])))


def _used_twice(placed: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    users: dict[str, list[str]] = defaultdict(list)
    for name, rule in placed.items():
        for sid in members(rule):
            users[sid].append(name)
    for name in sorted(placed):
        for sid in sorted(members(placed[name])):
            if len(users[sid]) > 1:
                yield name, _ONCE.format(sid)


def _contradicting(together: Mapping[str, Rule], apart: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    for names, sids in _joined(together):
        for other in sorted(apart):
            if len(sids & members(apart[other])) > 1:
                yield other, _SHARED.format("positive")
                yield from ((name, _SHARED.format("negative")) for name in names)


def _ranked(related: Mapping[str, Rule], placed: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    for name in sorted(related):
        paired = [other for other in sorted(placed) if members(related[name]) & members(placed[other])]
        if any(len(set(_priorities(placed[other]).values())) > 1 for other in paired):
            yield from ((other, _RANKING) for other in paired)
            yield name, _RANKED


def _torn(together: Mapping[str, Rule], placed: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    for names, sids in _joined(together):
        paired = [other for other in sorted(placed) if sids & members(placed[other])]
        if len(paired) > 1:
            yield from ((other, _TEARING) for other in paired)
            yield from ((name, _TORN) for name in names)


def _cramped(apart: Mapping[str, Rule], placed: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    for name in sorted(apart):
        paired = [other for other in sorted(placed) if members(apart[name]) & members(placed[other])]
        located = {sid for other in paired for sid in members(apart[name]) & members(placed[other])}
        allowed = {node for other in paired for node in _priorities(placed[other])}
        if len(allowed) < len(located):
            yield name, _CRAMPED
            yield from ((other, _CRAMPING) for other in paired)


def _joined(together: Mapping[str, Rule]) -> list[tuple[list[str], set[str]]]:
    """Rules that share machines mean one: their names, and all machines."""
    joined: list[tuple[list[str], set[str]]] = []
    for name in sorted(together):
        names, sids = [name], members(together[name])
        for other in [each for each in joined if each[1] & sids]:
            joined.remove(other)
            names, sids = [*other[0], *names], sids | other[1]
        joined.append((names, sids))
    return joined


def _priorities(rule: Rule) -> dict[str, int]:
    parts = (part.partition(":") for part in split_list(str(rule["nodes"])))
    return {node: int(priority or 0) for node, _, priority in parts}
