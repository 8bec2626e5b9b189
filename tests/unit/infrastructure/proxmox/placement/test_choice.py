"""Which host a machine goes to, and what is said about the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nagaya.infrastructure.proxmox.placement import (
    Clone,
    Disk,
    Guest,
    Host,
    Inventory,
    Placed,
    Refused,
    Reservation,
    Rules,
    Space,
    Spread,
    Storage,
    TagMatch,
    Template,
    TemplateById,
    TemplateByTags,
    TemplateDisk,
    Wish,
    place,
)

GIB = 1024**3
TAGS = frozenset({"kubernetes-v1.34.2", "nagaya"})


def host(name: str, **changes: Any) -> Host:
    return replace(Host(name, online=True, cpus=8, memory=32 * GIB, bridges=frozenset({"vmbr0"})), **changes)


def local(name: str, free: int = 200, storage: str = "local-lvm") -> Storage:
    return Storage(storage, name, free * GIB)


def template(vmid: int, name: str, storage: str = "local-lvm", tags: frozenset[str] = TAGS) -> Template:
    return Template(vmid, name, (TemplateDisk(10 * GIB, storage),), tags)


def town(*hosts: Host, **changes: Any) -> Inventory:
    """Hosts with a local storage each, and a copy of the template on it."""
    inventory = Inventory(
        hosts,
        storages=tuple(local(each.name) for each in hosts),
        templates=tuple(template(9000 + number, each.name) for number, each in enumerate(hosts)),
    )
    return replace(inventory, **changes)


def wish(**changes: Any) -> Wish:
    made = Wish("uid-1", cpus=2, memory=4 * GIB, template=TemplateByTags(TAGS), cluster="home", role="worker")
    return replace(made, **changes)


def placed(*arguments: Any) -> Placed:
    decision = place(*arguments)
    assert isinstance(decision, Placed), str(decision)
    return decision


def refused(*arguments: Any) -> dict[str, str]:
    decision = place(*arguments)
    assert isinstance(decision, Refused), str(decision)
    return {each.host: each.why for each in decision.why_not}


def test_the_host_with_most_free_memory_gets_the_first_machine() -> None:
    inventory = town(host("pve1"), host("pve2", memory=64 * GIB))
    decision = placed(wish(), inventory)
    assert decision.host == "pve2"
    assert decision.template.vmid == 9001
    assert not decision.to_another_host
    assert [str(each) for each in decision.why_not] == ["pve1: possible, but 32.0 GiB memory free, pve2 has 64.0 GiB"]
    assert str(decision) == "goes to pve2 (most free memory: 64.0 GiB), cloned from template 9001"


def test_a_host_that_is_off_gets_nothing_and_stops_nobody() -> None:
    inventory = town(host("pve1"), host("pve3", online=False, memory=512 * GIB, off_since="2026-05-01 10:00"))
    decision = placed(wish(), inventory)
    assert decision.host == "pve1"
    assert [str(each) for each in decision.why_not] == ["pve3: off since 2026-05-01 10:00"]


def test_every_host_is_told_why_it_cannot_have_the_machine() -> None:
    inventory = town(
        host("pve1", memory=3 * GIB),
        host("pve2", maintenance=True),
        host("pve3", online=False),
        host("pve4", bridges=frozenset({"vmbr9"})),
        host("pve5"),
        host("pve6"),
        host("pve7", failure_domain="cellar"),
    )
    storages = tuple(local(each.host, 12) if each.host == "pve5" else each for each in inventory.storages)
    reasons = refused(
        wish(
            bridges=frozenset({"vmbr0"}),
            boot_size=40 * GIB,
            denied=frozenset({"pve6"}),
            failure_domain="",
            allowed=frozenset({"pve1", "pve2", "pve3", "pve4", "pve5", "pve6", "pve9"}),
        ),
        replace(inventory, storages=storages),
    )
    assert reasons == {
        "pve1": "memory: 3.0 GiB free, 4.0 GiB needed",
        "pve2": "in maintenance",
        "pve3": "off",
        "pve4": "no bridge vmbr0 that may be used (there are: vmbr9)",
        "pve5": "storage local-lvm: 12.0 GiB free, 40.0 GiB needed",
        "pve6": "denied",
        "pve7": "not among the allowed hosts",
        "pve9": "allowed, but there is no such host",
    }


def test_everything_that_is_missing_is_said_at_once() -> None:
    inventory = town(host("pve1", memory=GIB, cpus=1))
    reasons = refused(wish(boot_size=900 * GIB, rules=Rules(cpu_percent=100)), inventory)
    assert reasons["pve1"] == (
        "memory: 1.0 GiB free, 4.0 GiB needed; "
        "processors: it has 1, 2 needed, and Proxmox VE starts no machine with more; "
        "storage local-lvm: 200.0 GiB free, 900.0 GiB needed"
    )


def test_a_host_has_no_machine_with_more_processors_than_its_own_however_many_are_given_away() -> None:
    """Proxmox VE would take such a machine, and then start it never."""
    reasons = refused(wish(cpus=9, rules=Rules(cpu_percent=400)), town(host("pve1", cpus=8)))
    assert reasons["pve1"] == "processors: it has 8, 9 needed, and Proxmox VE starts no machine with more"
    full = town(host("pve1", cpus=8), guests=(Guest(100, "pve1", 7, GIB),))
    assert refused(wish(rules=Rules(cpu_percent=100)), full)["pve1"] == "processors: 1 free, 2 needed"


def test_vms_that_are_off_and_containers_count_and_templates_do_not() -> None:
    guests = (
        Guest(100, "pve1", 2, 16 * GIB),
        Guest(101, "pve1", 2, 13 * GIB),
        Guest(9000, "pve1", 2, 64 * GIB, template=True),
    )
    assert refused(wish(), town(host("pve1"), guests=guests)) == {"pve1": "memory: 3.0 GiB free, 4.0 GiB needed"}
    assert placed(wish(memory=3 * GIB), town(host("pve1"), guests=guests)).host == "pve1"


def test_memory_can_be_given_away_more_than_once_or_not_be_looked_at() -> None:
    inventory = town(host("pve1"), guests=(Guest(100, "pve1", 2, 30 * GIB),))
    assert refused(wish(), inventory)
    assert placed(wish(rules=Rules(memory_percent=200)), inventory)
    assert placed(wish(memory=999 * GIB, rules=Rules(memory_percent=0)), inventory)
    assert refused(wish(rules=Rules(memory_percent=200, memory_reserve=31 * GIB)), inventory)


def test_ten_machines_at_once_are_spread_before_the_inventory_shows_any() -> None:
    inventory = town(host("pve1", memory=512 * GIB), host("pve2"), host("pve3"))
    reservations: list[Reservation] = []
    for number in range(9):
        reservations.append(placed(wish(machine=f"uid-{number}"), inventory, reservations).reservation)
    assert sorted(each.host for each in reservations) == ["pve1"] * 3 + ["pve2"] * 3 + ["pve3"] * 3


def test_machines_of_another_role_or_cluster_are_nothing_to_spread_from() -> None:
    guests = (
        Guest(100, "pve1", 1, GIB, cluster="home", role="control-plane"),
        Guest(101, "pve1", 1, GIB, cluster="other", role="worker"),
    )
    inventory = town(host("pve1", memory=64 * GIB), host("pve2"), guests=guests)
    assert placed(wish(), inventory).host == "pve1"
    assert placed(wish(role="control-plane"), inventory).host == "pve2"


def test_among_equal_hosts_the_emptier_failure_domain_is_taken() -> None:
    inventory = town(
        host("a1", failure_domain="a", memory=16 * GIB),
        host("a2", failure_domain="a", memory=64 * GIB),
        host("b1", failure_domain="b"),
        guests=(Guest(100, "a1", 1, GIB, cluster="home", role="worker"),),
    )
    decision = placed(wish(), inventory)
    assert decision.host == "b1"
    assert {each.host: each.why for each in decision.why_not}["a2"] == (
        "possible, but its failure domain a has 1 worker machine of cluster home"
    )


def test_a_machine_waits_rather_than_share_a_host_where_that_is_required() -> None:
    inventory = town(host("pve1"), guests=(Guest(100, "pve1", 1, GIB, cluster="home", role="worker"),))
    required = Rules(spread=Spread.REQUIRED)
    assert refused(wish(rules=required), inventory) == {
        "pve1": "has 1 worker machine of cluster home already, and they must be on different hosts"
    }
    assert placed(wish(rules=Rules(spread=Spread.NONE)), inventory)


def test_a_machine_is_not_in_its_own_way() -> None:
    inventory = town(host("pve1", memory=4 * GIB), guests=(Guest(100, "pve1", 2, 4 * GIB, machine="uid-1"),))
    mine = Reservation("uid-1", "pve1", memory=4 * GIB, cpus=2)
    assert placed(wish(), inventory, [mine]).host == "pve1"


def test_a_machine_that_is_both_promised_and_seen_counts_once_with_the_larger_of_both() -> None:
    seen = Guest(100, "pve1", 1, 2 * GIB)
    promised = Reservation("uid-2", "pve1", vmid=100, memory=20 * GIB, cpus=2, clone=Clone.RUNNING)
    inventory = town(host("pve1"), guests=(seen,))
    assert placed(wish(memory=12 * GIB), inventory, [promised])
    assert refused(wish(memory=13 * GIB), inventory, [promised])


def test_a_clone_on_its_way_to_another_host_counts_there() -> None:
    seen = Guest(100, "pve1", 1, 20 * GIB)
    promised = Reservation("uid-2", "pve2", vmid=100, memory=20 * GIB, clone=Clone.RUNNING)
    inventory = town(host("pve1"), host("pve2"), guests=(seen,))
    assert placed(wish(memory=30 * GIB), inventory, [promised]).host == "pve1"
    assert placed(wish(memory=30 * GIB), inventory, [replace(promised, clone=Clone.DONE)]).host == "pve2"


def test_promised_space_is_not_given_away_twice() -> None:
    promised = Reservation("uid-2", "pve1", spaces=(Space("local-lvm", 150 * GIB),))
    inventory = town(host("pve1"))
    assert refused(wish(boot_size=60 * GIB), inventory, [promised]) == {
        "pve1": "storage local-lvm: 50.0 GiB free, 60.0 GiB needed"
    }
    assert placed(wish(boot_size=50 * GIB), inventory, [promised])
    assert refused(wish(boot_size=50 * GIB, rules=Rules(storage_reserve=1)), inventory, [promised])


def test_space_promised_on_a_shared_storage_is_gone_for_all_hosts() -> None:
    shared = tuple(Storage("ceph", name, 100 * GIB, shared=True) for name in ("pve1", "pve2"))
    inventory = town(host("pve1"), host("pve2"), storages=shared, templates=(template(9000, "pve1", "ceph"),))
    promised = Reservation("uid-2", "pve1", spaces=(Space("ceph", 95 * GIB),))
    assert set(refused(wish(), inventory, [promised]).values()) == {"storage ceph: 5.0 GiB free, 10.0 GiB needed"}


def test_pci_devices_are_counted_by_their_mapping() -> None:
    inventory = town(
        host("pve1", devices={"gpu": 2}), host("pve2"), guests=(Guest(100, "pve1", 1, GIB, devices=("gpu",)),)
    )
    assert placed(wish(devices=("gpu",)), inventory).host == "pve1"
    assert refused(wish(devices=("gpu", "gpu")), inventory) == {
        "pve1": "PCI devices of mapping gpu: 1 free, 2 needed",
        "pve2": "no PCI device of mapping gpu that may be used (Mapping.Use)",
    }


def test_the_fourth_clone_to_a_storage_waits_and_says_for_what() -> None:
    inventory = town(host("pve1", memory=512 * GIB))
    running = [
        Reservation(f"uid-{number}", "pve1", clone=Clone.RUNNING, clone_storage="local-lvm", since="1")
        for number in range(2, 5)
    ]
    waiting = Reservation("uid-9", "pve1", clone_storage="local-lvm", since="2")
    rules = Rules(clones=3)
    assert placed(wish(rules=rules), inventory, running[:2]).turn.come
    decision = placed(wish(rules=rules), inventory, running)
    assert not decision.turn.come
    assert str(decision.turn) == "waits: 3 clones to local-lvm run already (at most 3 at a time)"
    assert str(placed(wish(rules=rules), inventory, [*running, waiting]).turn).endswith(", and 1 machine came earlier")


def test_disks_go_to_the_first_storage_with_enough_space() -> None:
    inventory = town(host("pve1"))
    storages = (*inventory.storages, local("pve1", 20, "fast"), local("pve1", 500, "slow"))
    rules = Rules(storages=("fast", "slow"))
    decision = placed(wish(boot_size=40 * GIB, rules=rules), replace(inventory, storages=storages))
    assert (decision.disks.boot, decision.disks.copied_to) == ("slow", "slow")
    assert placed(wish(rules=rules), replace(inventory, storages=storages)).disks.boot == "fast"
    further = wish(rules=rules, disks=(Disk(15 * GIB), Disk(5 * GIB, "local-lvm")))
    decision = placed(further, replace(inventory, storages=storages))
    assert decision.disks.further == ("slow", "local-lvm")
    assert decision.disks.spaces == (Space("local-lvm", 5 * GIB), Space("slow", 25 * GIB))


def test_storages_that_are_not_for_disks_or_not_there_are_named() -> None:
    isos = Storage("local", "pve1", 500 * GIB, content=frozenset({"iso", "vztmpl"}))
    nfs = Storage("nfs", "pve1", 500 * GIB, active=False)
    inventory = town(host("pve1"))
    inventory = replace(inventory, storages=(*inventory.storages, isos, nfs))
    assert refused(wish(storage="local"), inventory)["pve1"] == (
        "storage local is not for disks of VMs (content iso, vztmpl)"
    )
    assert refused(wish(storage="nfs"), inventory)["pve1"] == "storage nfs cannot be reached"
    assert refused(wish(storage="gone"), inventory)["pve1"] == (
        "storage gone is not there, is disabled, or may not be seen "
        "(Datastore.Audit, which `nagaya proxmox connect` grants)"
    )


def test_a_template_whose_storage_cannot_be_reached_makes_no_machines() -> None:
    inventory = town(host("pve1"))
    storages = (replace(local("pve1"), active=False), local("pve1", storage="other"))
    reasons = refused(wish(storage="other"), replace(inventory, storages=storages))
    assert reasons["pve1"] == "storage local-lvm with template 9000 cannot be reached on pve1"


def test_a_linked_clone_takes_only_what_it_grows() -> None:
    inventory = town(host("pve1"), storages=(local("pve1", 5),))
    assert refused(wish(), inventory)
    assert placed(wish(linked=True), inventory).disks.spaces == (Space("local-lvm", 0),)
    assert refused(wish(linked=True, boot_size=16 * GIB), inventory)


def test_a_template_on_a_local_storage_makes_machines_on_its_host_only() -> None:
    inventory = town(host("pve1"), host("pve2", memory=99 * GIB), templates=(template(9000, "pve1"),))
    decision = placed(wish(), inventory)
    assert decision.host == "pve1"
    assert [str(each) for each in decision.why_not] == [
        "pve2: template 9000 is not on pve2, and its storage local-lvm on pve1 is local"
    ]


def test_a_template_on_a_shared_storage_makes_machines_anywhere_on_shared_storages() -> None:
    shared = tuple(Storage("ceph", name, 100 * GIB, shared=True) for name in ("pve1", "pve2"))
    inventory = town(host("pve1"), host("pve2", memory=99 * GIB), templates=(template(9000, "pve1", "ceph"),))
    inventory = replace(inventory, storages=(*inventory.storages, *shared))
    decision = placed(wish(), inventory)
    assert (decision.host, decision.template.host, decision.to_another_host) == ("pve2", "pve1", True)
    on_local = placed(wish(storage="local-lvm"), inventory)
    assert on_local.host == "pve1"
    assert [str(each) for each in on_local.why_not] == [
        "pve2: template 9000 is on pve1, and from there to the local storage local-lvm nothing can be cloned"
    ]
    off = replace(inventory, hosts=(host("pve1", online=False), host("pve2")))
    assert refused(wish(), off)["pve2"] == "template 9000 is not on pve2, and pve1, where it is, is off"


def test_without_allowed_hosts_a_machine_stays_with_a_template_given_by_its_id() -> None:
    inventory = town(host("pve1"), host("pve2", memory=99 * GIB))
    decision = placed(wish(template=TemplateById(9000, "pve1")), inventory)
    assert decision.host == "pve1"
    assert [str(each) for each in decision.why_not] == [
        "pve2: no hosts are allowed by name, so the machine stays with its template on pve1"
    ]
    missing = place(wish(template=TemplateById(77, "pve1")), inventory)
    assert isinstance(missing, Refused)
    assert (missing.reason, missing.message) == (
        "TemplateNotFound",
        "there is no template 77 (it was to be on pve1)",
    )
    assert [each.host for each in missing.why_not] == ["pve1", "pve2"]


def test_a_mediated_device_needs_a_host_with_the_card_and_leaves_room_for_others() -> None:
    inventory = town(
        host("pve1", devices={"gpu": 1}), host("pve2"), guests=(Guest(100, "pve1", 1, GIB, devices=("gpu",)),)
    )
    assert placed(wish(mediated=frozenset({"gpu"})), inventory).host == "pve1"
    assert refused(wish(mediated=frozenset({"disc"})), inventory) == dict.fromkeys(
        ("pve1", "pve2"), "no PCI device of mapping disc that may be used (Mapping.Use)"
    )


def test_a_host_that_is_on_and_does_not_answer_gets_nothing_and_stops_nobody() -> None:
    inventory = town(host("pve1", silent="connection timed out", memory=512 * GIB), host("pve2"))
    decision = placed(wish(), inventory)
    assert decision.host == "pve2"
    assert [str(each) for each in decision.why_not] == ["pve1: does not answer: connection timed out"]


def test_a_template_that_nobody_could_read_is_not_cloned_blindly() -> None:
    unread = replace(template(9000, "pve1"), readable=False, disks=())
    inventory = town(host("pve1"), host("pve2"), templates=(unread,))
    assert refused(wish(), inventory) == {
        "pve1": "the configuration of template 9000 on pve1 could not be read",
        "pve2": "template 9000 is not on pve2, and the configuration of template 9000 on pve1 could not be read",
    }


def test_the_failure_domain_of_a_machine_is_honoured_and_its_hosts_are_taken_in_turn() -> None:
    hosts = [host(f"pve{number}", failure_domain="ab"[number > 2]) for number in (1, 2, 3, 4)]
    inventory = town(*hosts)
    promised: list[Reservation] = []
    for number in range(4):
        decision = placed(wish(machine=f"uid-{number}", failure_domain="a"), inventory, promised)
        promised.append(decision.reservation)
    assert [each.host for each in promised] == ["pve1", "pve2", "pve1", "pve2"]
    assert [str(each) for each in decision.why_not if each.host != "pve1"] == [
        "pve3: in failure domain b, not in a",
        "pve4: in failure domain b, not in a",
    ]


def test_required_spread_within_a_failure_domain_waits_when_its_hosts_are_used_up() -> None:
    inventory = town(host("pve1", failure_domain="a"), host("pve2", failure_domain="b"))
    rules = Rules(spread=Spread.REQUIRED)
    first = placed(wish(machine="uid-0", failure_domain="a", rules=rules), inventory)
    reasons = refused(wish(failure_domain="a", rules=rules), inventory, (first.reservation,))
    assert reasons == {
        "pve1": "has 1 worker machine of cluster home already, and they must be on different hosts",
        "pve2": "in failure domain b, not in a",
    }


def test_tags_choose_a_template_by_the_policy() -> None:
    more = TAGS | {"gpu"}
    most = TAGS | {"gpu", "old"}
    storages = (local("pve1"),)

    def asked(match: TagMatch, *tags: frozenset[str]) -> str | int:
        made = tuple(template(9000 + number, "pve1", tags=each) for number, each in enumerate(tags))
        decision = place(
            wish(template=TemplateByTags(TAGS, match)), town(host("pve1"), storages=storages, templates=made)
        )
        return decision.template.vmid if isinstance(decision, Placed) else decision.reason

    assert asked(TagMatch.EXACT, more, TAGS) == 9001
    assert asked(TagMatch.EXACT, more) == "TemplateNotFound"
    assert asked(TagMatch.UNIQUE_SUBSET, more) == 9000
    assert asked(TagMatch.UNIQUE_SUBSET, more, TAGS) == "TemplateAmbiguous"
    assert asked(TagMatch.BEST_SUBSET, most, more) == 9001
    assert asked(TagMatch.BEST_SUBSET, more, TAGS | {"arm"}) == "TemplateAmbiguous"
    assert asked(TagMatch.BEST_SUBSET) == "TemplateNotFound"
    assert asked(TagMatch.EXACT, TAGS, TAGS) == "NoHostFits"


def test_a_selector_without_tags_is_told_that_it_names_none() -> None:
    inventory = town(host("pve1"), templates=(template(9000, "pve1"),))
    missing = place(wish(template=TemplateByTags(frozenset(), TagMatch.EXACT)), inventory)
    assert isinstance(missing, Refused)
    assert missing.message.startswith("templateSelector names no tags, and no template is without any; with tags: 9000")


def test_the_image_does_not_depend_on_which_hosts_are_on() -> None:
    better = template(9000, "pve1")
    lesser = template(9001, "pve2", tags=TAGS | {"old"})
    inventory = town(host("pve1", online=False), host("pve2"), templates=(better, lesser))
    reasons = refused(wish(template=TemplateByTags(TAGS, TagMatch.BEST_SUBSET)), inventory)
    assert reasons == {"pve1": "off", "pve2": "template 9000 is not on pve2, and pve1, where it is, is off"}


def test_a_refusal_reads_as_one_sentence() -> None:
    decision = place(wish(memory=99 * GIB), town(host("pve1"), host("pve2", online=False)))
    assert str(decision) == (
        "no host can have the machine now: pve1: memory: 32.0 GiB free, 99.0 GiB needed; pve2: off"
    )
