"""What holds for every choice of a host."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.placement import (
    Guest,
    Host,
    Inventory,
    Placed,
    Refused,
    Reservation,
    Rules,
    Spread,
    Storage,
    Template,
    TemplateByTags,
    TemplateDisk,
    Wish,
    place,
)

GIB = 1024**3
TAGS = frozenset({"image"})
Thing = TypeVar("Thing")
few = settings(max_examples=60, deadline=None)


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    names = [f"pve{number}" for number in range(draw(st.integers(1, 4)))]
    shared_space = draw(st.integers(0, 90)) * GIB
    hosts: list[Host] = []
    storages: list[Storage] = []
    templates: list[Template] = []
    guests: list[Guest] = []
    for number, name in enumerate(names):
        hosts.append(
            Host(
                name,
                online=draw(st.booleans()) or draw(st.booleans()),
                cpus=draw(st.integers(1, 8)),
                memory=draw(st.integers(1, 24)) * GIB,
                maintenance=draw(st.integers(0, 5)) == 0,
                failure_domain=draw(st.sampled_from(["", "a", "b"])),
                silent=draw(st.sampled_from(["", "", "", "timed out"])),
                bridges=draw(st.sampled_from([None, frozenset({"vmbr0"}), frozenset({"vmbr0", "vmbr1"})])),
                devices={"gpu": count} if (count := draw(st.integers(0, 3))) else {},
            )
        )
        storages.append(Storage("local", name, draw(st.integers(0, 90)) * GIB))
        storages.append(Storage("ceph", name, shared_space, shared=True))
        if draw(st.booleans()) or number == 0:
            on = draw(st.sampled_from(["local", "ceph"]))
            templates.append(Template(9000 + number, name, (TemplateDisk(5 * GIB, on),), TAGS))
        if draw(st.booleans()):
            role = draw(st.sampled_from(["", "worker"]))
            size, devices = draw(st.integers(0, 8)) * GIB, draw(st.sampled_from([(), ("gpu",)]))
            guests.append(Guest(100 + number, name, draw(st.integers(1, 4)), size, role=role, devices=devices))
    return Inventory(tuple(hosts), tuple(guests), tuple(storages), tuple(templates))


@st.composite
def wishes(draw: st.DrawFn, machine: str = "uid") -> Wish:
    rules = Rules(
        memory_percent=draw(st.sampled_from([50, 100, 150])),
        cpu_percent=draw(st.sampled_from([0, 100, 400])),
        memory_reserve=draw(st.integers(0, 4)) * GIB,
        storage_reserve=draw(st.integers(0, 10)) * GIB,
        spread=draw(st.sampled_from(Spread)),
        storages=draw(st.sampled_from([(), ("ceph",), ("local", "ceph")])),
    )
    return Wish(
        machine,
        cpus=draw(st.integers(1, 4)),
        memory=draw(st.integers(1, 8)) * GIB,
        template=TemplateByTags(TAGS),
        role="worker",
        boot_size=draw(st.integers(0, 30)) * GIB,
        bridges=draw(st.sampled_from([frozenset(), frozenset({"vmbr0"}), frozenset({"vmbr1"})])),
        devices=draw(st.sampled_from([(), (), ("gpu",), ("gpu", "gpu")])),
        failure_domain=draw(st.sampled_from(["", "", "a"])),
        rules=rules,
    )


@few
@given(inventories(), wishes(), st.integers(1, 12))
def test_machines_one_after_the_other_never_get_more_than_the_rules_give(
    inventory: Inventory, wish: Wish, count: int
) -> None:
    hosts = {each.name: each for each in inventory.hosts}
    reservations: list[Reservation] = []
    for number in range(count):
        decision = place(replace(wish, machine=f"uid-{number}"), inventory, reservations)
        if isinstance(decision, Refused):
            assert {each.host for each in decision.why_not} == set(hosts)
            break
        assert {each.host for each in decision.why_not} == set(hosts) - {decision.host}
        assert all(each.why for each in decision.why_not)
        assert hosts[decision.host].online
        assert not hosts[decision.host].maintenance
        assert not hosts[decision.host].silent
        assert wish.failure_domain in ("", hosts[decision.host].failure_domain)
        reservations.append(decision.reservation)
    taken = {each.host for each in reservations}
    memory: Counter[str] = Counter()
    cpus: Counter[str] = Counter()
    claims = [(each.host, each.memory, each.cpus) for each in inventory.guests]
    claims += [(each.host, each.memory, each.cpus) for each in reservations]
    for name, size, count in claims:
        memory[name] += size
        cpus[name] += count
    for name in taken:
        assert memory[name] + wish.rules.memory_reserve <= hosts[name].memory * wish.rules.memory_percent // 100
        assert not wish.rules.cpu_percent or cpus[name] <= hosts[name].cpus * wish.rules.cpu_percent // 100
    devices = Counter((each.host, one) for each in inventory.guests for one in each.devices)
    devices.update((each.host, one) for each in reservations for one in each.devices)
    for name in taken if wish.devices else ():
        assert devices[name, "gpu"] <= hosts[name].devices["gpu"]
    if wish.rules.spread is Spread.REQUIRED:
        assert len(taken) == len(reservations)
    storages = {(each.host, each.name): each for each in inventory.storages}
    space: Counter[tuple[str, str]] = Counter()
    for each in reservations:
        for one in each.spaces:
            space[storages[each.host, one.storage].place] += one.size
    for storage in inventory.storages:
        assert not space[storage.place] or space[storage.place] <= storage.free - wish.rules.storage_reserve


@few
@given(inventories(), wishes(), st.integers(0, 3))
def test_a_machine_that_fits_on_some_host_is_placed_and_on_one_that_it_fits_on(
    inventory: Inventory, wish: Wish, before: int
) -> None:
    promised: list[Reservation] = []
    for number in range(before):
        earlier = place(replace(wish, machine=f"uid-{number}"), inventory, promised)
        promised += [earlier.reservation] if isinstance(earlier, Placed) else []
    alone = {
        each.name
        for each in inventory.hosts
        if isinstance(place(replace(wish, allowed=frozenset({each.name})), inventory, promised), Placed)
    }
    decision = place(wish, inventory, promised)
    assert isinstance(decision, Placed) == bool(alone), str(decision)
    if isinstance(decision, Placed):
        assert decision.host in alone


@few
@given(inventories(), wishes(), st.randoms(use_true_random=False))
def test_the_order_of_nothing_matters(inventory: Inventory, wish: Wish, random: Random) -> None:
    first = place(replace(wish, machine="other"), inventory)
    promised = [first.reservation] if isinstance(first, Placed) else []
    promised.append(Reservation("third", "pve0", memory=GIB, role="worker"))

    def shuffled(things: tuple[Thing, ...]) -> tuple[Thing, ...]:
        return tuple(random.sample(things, len(things)))

    mixed = Inventory(
        shuffled(inventory.hosts),
        shuffled(inventory.guests),
        shuffled(inventory.storages),
        shuffled(inventory.templates),
    )
    assert place(wish, mixed, promised[::-1]) == place(wish, inventory, promised)


@few
@given(inventories(), wishes(), st.booleans())
def test_a_further_host_makes_no_machine_unplaceable(inventory: Inventory, wish: Wish, with_template: bool) -> None:
    before = place(wish, inventory)
    added = (Template(9999, "new", (TemplateDisk(5 * GIB, "local"),), TAGS),) if with_template else ()
    after = place(
        wish,
        Inventory(
            (
                *inventory.hosts,
                Host(
                    "new",
                    online=True,
                    cpus=64,
                    memory=512 * GIB,
                    failure_domain=wish.failure_domain,
                    devices={"gpu": 2},
                ),
            ),
            inventory.guests,
            (*inventory.storages, Storage("local", "new", 900 * GIB)),
            (*inventory.templates, *added),
        ),
    )
    if isinstance(before, Placed) or (with_template and "local" in (wish.rules.storages or ("local",))):
        assert isinstance(after, Placed), str(after)


@few
@given(st.integers(1, 5), st.integers(1, 17), st.lists(st.integers(64, 512), min_size=5, max_size=5))
def test_hosts_with_room_differ_by_one_machine_at_most(hosts: int, machines: int, memory: list[int]) -> None:
    names = [f"pve{number}" for number in range(hosts)]
    inventory = Inventory(
        tuple(Host(name, online=True, cpus=8, memory=size * GIB) for name, size in zip(names, memory, strict=False)),
        storages=tuple(Storage("local", name, 900 * GIB) for name in names),
        templates=tuple(
            Template(9000 + number, name, (TemplateDisk(GIB, "local"),), TAGS) for number, name in enumerate(names)
        ),
    )
    reservations: list[Reservation] = []
    for number in range(machines):
        decision = place(Wish(f"uid-{number}", 1, GIB, TemplateByTags(TAGS), role="worker"), inventory, reservations)
        assert isinstance(decision, Placed), str(decision)
        reservations.append(decision.reservation)
    counts = Counter(dict.fromkeys(names, 0))
    counts.update(each.host for each in reservations)
    assert max(counts.values()) - min(counts.values()) <= 1
