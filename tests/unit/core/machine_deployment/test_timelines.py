"""Whole rollouts, step by step, against timelines in testdata.

A `look` is one reconcile of the deployment: of each set how many machines there are and were to be, how many it shall
have from now on, and why. Between two looks the sets act: they make machines, or delete the oldest ones. In the
shuffled timelines everybody acts in random order, and sometimes not at all, as in real life. NAGAYA_UPDATE_GOLDEN=1
writes the timelines anew.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet, MachineSetStatus
from nagaya.core.drift import drift
from nagaya.core.machine_deployment.plan import Plan, plan
from nagaya.core.machine_deployment.seen import Seen
from nagaya.core.machine_deployment.strategy import limits
from support.builders import NOW, cluster, machine_deployment
from support.subtest_cases import subtest_cases
from support.thoroughness import seed_of

TESTDATA = Path(__file__).parent / "testdata"
MOST_LOOKS = 60
VERSIONS = ("v1.34.0", "v1.35.0", "v1.36.0")


def deployment(replicas: int, version: str, **strategy: Any) -> MachineDeployment:
    rollout = {"type": "RollingUpdate", "rollingUpdate": strategy} if strategy else {"type": "OnDelete"}
    draft = machine_deployment().having(
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": {"role": "deckhand"}},
            "template": {"metadata": {"labels": {"role": "deckhand"}}, "spec": {"version": version}},
            "rollout": {"strategy": rollout},
        }
    )
    return draft.made()


@dataclass
class Fleet:
    """A deployment, its sets and their machines, of which only the numbers exist."""

    deployment: MachineDeployment
    sets: list[MachineSet] = field(default_factory=list)
    machines: dict[str, list[int]] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)
    by_hand: int = 0
    """How many machines somebody lets be missing who deletes old ones by hand."""
    made: int = 0
    most: int = 0
    """How many machines there were at the beginning."""
    fewest: int = 0
    """How many of them worked."""
    lines: list[str] = field(default_factory=list)
    letters: dict[str, str] = field(default_factory=dict)

    def settle(self, *versions: tuple[str, int]) -> None:
        """Begin with sets of some versions, the oldest first, whose machines are all there."""
        wanted = self.deployment
        for version, size in versions:
            template = msgspec.structs.replace(wanted.spec.template.spec, version=version)
            content = msgspec.structs.replace(wanted.spec.template, spec=template)
            self.deployment = msgspec.structs.replace(
                wanted, spec=msgspec.structs.replace(wanted.spec, template=content)
            )
            made = next(each for each in self.decide().sets if each.present is None)
            self._keep(msgspec.structs.replace(made.wanted, spec=_sized(made.wanted, size)))
            self._act(made.wanted.metadata.name)
        self.deployment = wanted
        self.lines.clear()

    def decide(self) -> Plan:
        return plan(Seen(self.deployment, cluster().made(), NOW, tuple(self.sets)))

    def look(self) -> None:
        """The deployment acts."""
        before = {each.metadata.name: each for each in self.sets}
        decided = self.decide()
        for each in decided.sets:
            self._keep(each.wanted)
        self._record(before, decided)
        for gone in decided.delete:
            self.sets = [each for each in self.sets if each.metadata.name != gone.metadata.name]
            self.lines.append(f"        {self._letter(gone)} is deleted")
        generation = self.deployment.metadata.generation
        status = msgspec.structs.replace(self.deployment.status, observed_generation=generation)
        self.deployment = msgspec.structs.replace(self.deployment, status=status)

    def _record(self, before: dict[str, MachineSet], decided: Plan) -> None:
        shown = []
        why = []
        for each in sorted(decided.sets, key=lambda each: self._letter(each.wanted)):
            letter = self._letter(each.wanted)
            there = len(self.machines.get(each.wanted.metadata.name, ()))
            arrow = f" -> {each.size}" if each.size != each.size_before else ""
            shown.append(f"{letter} {there}/{each.size_before}{arrow}")
            if arrow:
                why.append(f"{letter}: {each.why}")
            elif each.wanted.metadata.name not in before:
                why.append(f"{letter} is new")
        self.lines.append(f"look    {'   '.join(shown)}{'   | ' if why else ''}{'; '.join(why)}")

    def _act(self, name: str) -> None:
        """A set acts."""
        found = next((each for each in self.sets if each.metadata.name == name), None)
        if found is None:
            return
        machines = self.machines.setdefault(name, [])
        size = found.spec.replicas or 0
        stopped = found.metadata.annotations.get("cluster.x-k8s.io/disable-machine-create") == "true"
        letter = self._letter(found)
        if len(machines) < size and not stopped:
            new = [self.made + index + 1 for index in range(size - len(machines))]
            self.made += len(new)
            machines += new
            self.lines.append(f"        {letter} makes {_listed(new)}")
        elif len(machines) > size:
            # Those that do not work go first, as MachineSets prefer it.
            ordered = sorted(machines, key=lambda each: (each not in self.broken, each))
            gone = sorted(ordered[: len(machines) - size])
            self.machines[name] = machines = [each for each in machines if each not in gone]
            self.lines.append(f"        {letter} deletes {_listed(gone)}")
        outdated = bool(drift(found.spec.template.spec, self.deployment.spec.template.spec))
        works = len([each for each in machines if each not in self.broken])
        status = MachineSetStatus(
            replicas=len(machines),
            available_replicas=works,
            up_to_date_replicas=0 if outdated else len(machines),
            observed_generation=1,
        )
        self._keep(msgspec.structs.replace(found, status=status))

    def _delete_by_hand(self) -> None:
        """Somebody deletes an old machine, if enough others are there."""
        there = sum(map(len, self.machines.values()))
        if not self.by_hand or there <= (self.deployment.spec.replicas or 0) - self.by_hand:
            return
        for found in self.sets:
            machines = self.machines.get(found.metadata.name)
            if machines and drift(found.spec.template.spec, self.deployment.spec.template.spec):
                self.lines.append(f"        somebody deletes {machines.pop(0)}")
                return

    @property
    def done(self) -> bool:
        """Whether there is one set, and it has all machines."""
        if len(self.sets) != 1:
            return False
        (only,) = self.sets
        return len(self.machines[only.metadata.name]) == only.spec.replicas == self.deployment.spec.replicas

    def check(self) -> None:
        """No step goes beyond what the strategy allows."""
        allowed = limits(self.deployment.spec)
        total = sum(max(each.spec.replicas or 0, len(self.machines.get(each.metadata.name, ()))) for each in self.sets)
        assert total <= max(allowed.at_most, self.most), self.lines[-1]
        works = sum(1 for each in self.machines.values() for one in each if one not in self.broken)
        if not self.by_hand:
            assert works >= min(allowed.available_at_least, self.fewest), self.lines[-1]

    def run(self, shuffled: random.Random | None = None) -> str:
        """The timeline until all is done."""
        self.most = sum(map(len, self.machines.values()))
        self.fewest = sum(1 for each in self.machines.values() for one in each if one not in self.broken)
        for _ in range(MOST_LOOKS):
            actions: list[Callable[[], None]] = [self.look]
            if shuffled is None:
                self.look()
                self.check()
                actions = []
            names = [each.metadata.name for each in self.sets]
            actions += [partial(self._act, name) for name in names]
            actions.append(self._delete_by_hand)
            if shuffled is not None:
                shuffled.shuffle(actions)
                actions = [each for each in actions if shuffled.random() > 0.3]
            for act in actions:
                act()
                self.check()
            if self.done:
                return "\n".join([*self.lines, f"done    {self._ending()}", ""])
        raise AssertionError("the rollout does not end:\n" + "\n".join(self.lines))

    def _ending(self) -> str:
        (only,) = self.sets
        return f"{self._letter(only)} has {_listed(self.machines[only.metadata.name])}"

    def _keep(self, machine_set: MachineSet) -> None:
        """Put a set in, as a server would: with a date, and without what only a server changes."""
        name = machine_set.metadata.name
        present = next((each for each in self.sets if each.metadata.name == name), None)
        if present is None:
            metadata = msgspec.structs.replace(
                machine_set.metadata,
                uid=f"uid-{name}",
                creation_timestamp=NOW + timedelta(minutes=len(self.letters)),
                generation=1,
            )
            self._letter(machine_set)
            self.sets.append(msgspec.structs.replace(machine_set, metadata=metadata))
            return
        metadata = msgspec.structs.replace(
            machine_set.metadata, creation_timestamp=present.metadata.creation_timestamp, generation=1
        )
        status = present.status if machine_set.status == MachineSetStatus() else machine_set.status
        after = msgspec.structs.replace(machine_set, metadata=metadata, status=status)
        self.sets = [after if each is present else each for each in self.sets]

    def _letter(self, machine_set: MachineSet) -> str:
        return self.letters.setdefault(machine_set.metadata.name, "ABCDEFG"[len(self.letters)])


def _sized(machine_set: MachineSet, size: int) -> Any:
    return msgspec.structs.replace(machine_set.spec, replicas=size)


def _listed(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def _rollout(replicas: int, surge: int, unavailable: int) -> Fleet:
    fleet = Fleet(deployment(replicas, VERSIONS[1], maxSurge=surge, maxUnavailable=unavailable))
    fleet.settle((VERSIONS[0], replicas))
    return fleet


def _under_way(replicas: int, version: str, old: int, new: int) -> Fleet:
    fleet = Fleet(deployment(replicas, version, maxSurge=3, maxUnavailable=1))
    fleet.settle((VERSIONS[0], old), (VERSIONS[1], new))
    return fleet


def _broken() -> Fleet:
    fleet = _rollout(3, 1, 0)
    fleet.broken = {3}
    for each in [each.metadata.name for each in fleet.sets]:
        fleet._act(each)
    fleet.lines.clear()
    return fleet


def _by_hand(replicas: int, version: str, *sets: tuple[str, int], missing: int = 1) -> Fleet:
    fleet = Fleet(deployment(replicas, version), by_hand=missing)
    fleet.settle(*sets)
    return fleet


TIMELINES: dict[str, Callable[[], Fleet]] = {
    "rolling, 3 machines, surge 1, unavailable 0": lambda: _rollout(3, 1, 0),
    "rolling, 3 machines, surge 0, unavailable 1": lambda: _rollout(3, 0, 1),
    "rolling, 6 machines, surge 3, unavailable 1": lambda: _rollout(6, 3, 1),
    "rolling, 6 machines, surge 1, unavailable 3": lambda: _rollout(6, 1, 3),
    "rolling, 6 machines, surge 10, unavailable 0": lambda: _rollout(6, 10, 0),
    "rolling, 6 machines, surge 0, unavailable 10": lambda: _rollout(6, 0, 10),
    "rolling, scaled from 6 to 12 midway": lambda: _under_way(12, VERSIONS[1], 3, 3),
    "rolling, scaled from 12 to 6 midway": lambda: _under_way(6, VERSIONS[1], 9, 3),
    "rolling, changed again midway": lambda: _under_way(6, VERSIONS[2], 3, 3),
    "rolling, changed back midway": lambda: _under_way(6, VERSIONS[0], 3, 3),
    "rolling, an old machine does not work": _broken,
    "on delete, 3 machines": lambda: _by_hand(3, VERSIONS[1], (VERSIONS[0], 3)),
    "on delete, 6 machines, two at a time": lambda: _by_hand(6, VERSIONS[1], (VERSIONS[0], 6), missing=2),
    "on delete, scaled from 6 to 9 midway": lambda: _by_hand(9, VERSIONS[1], (VERSIONS[0], 3), (VERSIONS[1], 3)),
    "on delete, scaled from 12 to 6 midway": lambda: _by_hand(6, VERSIONS[1], (VERSIONS[0], 9), (VERSIONS[1], 3)),
    "on delete, changed again midway": lambda: _by_hand(6, VERSIONS[2], (VERSIONS[0], 3), (VERSIONS[1], 3)),
}


@pytest.mark.parametrize("name", TIMELINES)
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_a_rollout_takes_the_steps_of_its_timeline(name: str, shuffled: bool) -> None:
    found = TIMELINES[name]().run(random.Random(0) if shuffled else None)
    path = TESTDATA / f"{name.replace(', ', '-').replace(' ', '_')}{'-shuffled' if shuffled else ''}.txt"
    if os.environ.get("NAGAYA_UPDATE_GOLDEN"):
        path.write_text(found)
    assert found == path.read_text()


@subtest_cases("name", TIMELINES)
def test_a_rollout_ends_in_whatever_order_everybody_acts(name: str) -> None:
    for number in range(10):
        assert "done" in TIMELINES[name]().run(random.Random(seed_of(number)))


def test_no_timeline_is_left_over() -> None:
    assert len([*TESTDATA.glob("*.txt")]) == 2 * len(TIMELINES)
