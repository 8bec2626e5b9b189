"""Templates for machines that are to be."""

from __future__ import annotations

from typing import Any

import msgspec

from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec
from nagaya.api.proxmox.template_source import TemplateSelector
from nagaya.infrastructure.proxmox.machine_template.availability import Use, judged
from nagaya.infrastructure.proxmox.placement import (
    Host,
    Inventory,
    Storage,
    TagMatch,
    Template,
    TemplateById,
    TemplateByTags,
    TemplateDisk,
)

TAGS = TemplateByTags(frozenset({"debian"}))


def use(version: str = "", allowed: frozenset[str] = frozenset(), **spec: Any) -> Use:
    content = {"network": {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}, **spec}
    return Use("MachineDeployment default/a", msgspec.convert(content, ProxmoxMachineSpec), version, allowed)


def inventory(*templates: Template, off: tuple[str, ...] = (), shared: bool = False) -> Inventory:
    names = ("pve1", "pve2", "pve3")
    return Inventory(
        tuple(Host(name, name not in off, 8, 1 << 34) for name in names),
        storages=tuple(Storage("disks", name, 1 << 40, shared=shared) for name in names),
        templates=templates,
    )


def template(vmid: int, host: str) -> Template:
    return Template(vmid, host, (TemplateDisk(1, "disks"),), frozenset({"debian"}))


def test_a_local_template_has_to_be_on_every_host() -> None:
    found = judged(use(), TAGS, inventory(template(9001, "pve1"), template(9002, "pve2")))
    assert found.hosts == ("pve1", "pve2")
    assert [*found.lacking] == ["pve3"]
    assert "is local" in found.lacking["pve3"]


def test_a_shared_one_is_enough_for_all() -> None:
    found = judged(use(), TAGS, inventory(template(9001, "pve1"), shared=True))
    assert found.hosts == ("pve1", "pve2", "pve3")


def test_hosts_that_are_off_or_not_allowed_do_not_count() -> None:
    found = judged(use(allowed=frozenset({"pve1", "pve3"})), TAGS, inventory(template(9001, "pve1"), off=("pve3",)))
    assert found.hosts == ("pve1",)
    assert not found.lacking


def test_a_template_by_id_is_for_its_own_host() -> None:
    found = judged(use(), TemplateById(9001), inventory(template(9001, "pve1")))
    assert found.hosts == ("pve1",)
    assert not found.lacking


def test_none_at_all_is_told() -> None:
    assert "no template has the tags debian" in judged(use(), TAGS, inventory()).missing


def test_the_version_is_a_tag_where_the_selector_says_so() -> None:
    selector = {"matchTags": ["Debian"], "matchKubernetesVersion": True, "matchPolicy": "bestSubset"}
    wanted = use("v1.36.3", templateSelector=selector).wanted(None)
    assert wanted == TemplateByTags(frozenset({"debian", "kubernetes-v1.36.3"}), TagMatch.BEST_SUBSET)
    default = TemplateSelector(match_tags=("debian",))
    assert use("v1.36.3").wanted(default) == TAGS
    assert use("v1.36.3", templateID=9001, sourceNode="pve1").wanted(default) == TemplateById(9001, "pve1")
