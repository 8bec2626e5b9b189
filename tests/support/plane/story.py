"""A story: what a user does, what befalls the world, and what goes wrong, all from one seed.

Most stories are short: what one of them does not tell another one does. Some begin with nothing, and most with a
cluster that is there already.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from nagaya.simulators.proxmox.faults.fault import TaskKind
from support.plane import accidents, faults, user
from support.plane.act import Act
from support.plane.weather import Fate, Way
from support.plane.wish import CLUSTERS, MEMORY, Wish
from support.proxmox_town_layout import NEW, grants

HOSTS: Final = ("pve1", "pve2", "pve3")
LARGE: Final = 6144
LENGTH: Final = 240.0
"""Seconds in which everything begins."""
LONG: Final = 40
"""One of so many stories has larger clusters, with which more is done."""
HOSTED: Final = 0.45
"""The share of clusters whose control plane is a hosted one."""
ADDONS: Final = 0.25
"""The share of clusters that get something from a ClusterResourceSet."""
ESTABLISHED: Final = 0.9
"""The share of stories whose first cluster is there when they begin."""
WORDS: Final = ("hello", "salve", "hey")
TASKS: Final = ("qmclone", "qmstart", "qmstop", "qmdestroy", "imgdel")


@dataclass(frozen=True, slots=True)
class Story:
    """What happens, in the order of time."""

    seed: int
    acts: tuple[Act, ...]
    established: Wish | None = None
    """The cluster that it begins with."""

    def without(self, left_out: Sequence[Act]) -> Story:
        """The same with less in it."""
        return replace(self, acts=tuple(each for each in self.acts if each not in left_out))

    def __str__(self) -> str:
        begins = [] if self.established is None else [f"there is {self.established}"]
        return "\n".join([*begins, *map(str, self.acts)])


def told(seed: int) -> Story:
    """The story of a seed."""
    chance = random.Random(f"story {seed}")
    long = seed % LONG == 0
    both = chance.random() < (0.4 if long else 0.02)
    acts: list[Act] = []
    hosting = False
    established: Wish | None = None
    for number, name in enumerate(CLUSTERS[: 2 if both else 1]):
        large = not both and chance.random() < (0.5 if long else 0.03)
        few = large or both or not long
        hosted = chance.random() < HOSTED
        planes = chance.choice([1, 1, 2]) if hosted else 3 if large else 1
        addon = chance.choice(WORDS) if chance.random() < ADDONS else ""
        workers = chance.choice(_workers(hosted) if few else [1, 2, 3])
        wanted = Wish(name, planes, workers, shares=both, hosted=hosted, addon=addon)
        hosting = hosting or hosted
        doings = _user(chance, wanted, number * round(chance.uniform(0, 60), 1), 3 if long else 1)
        if not number and chance.random() < ESTABLISHED:
            established, doings = replace(wanted, addon=""), doings[1:]
            if addon:
                doings = [user.BringAddon(0.0, name, addon), *doings]
        acts += doings
    accident = _hosting_accident if hosting else _accident
    acts += [accident(chance) for _ in range(chance.choice([0, 1, 1, 2]))]
    if established is not None and not acts:
        acts.append(accident(chance))  # faults are none where nobody does anything
    acts += [_fault(chance, hosting) for _ in range(chance.choice([0, 1, 2, 3]))]
    if len(acts) == 1 and established is None:
        acts.append(_fault(chance, hosting))  # a story in which nothing happens is none
    return Story(seed, tuple(sorted(acts, key=lambda each: each.at)), established)


def _workers(hosted: bool) -> list[int]:
    """How many there are usually. Machines are what takes time in a story: few have more than one at the beginning."""
    return [0, 0, 1] if hosted else [0, 0, 0, 0, 1]


def _user(chance: random.Random, wanted: Wish, begin: float, most: int) -> list[Act]:
    """What a user does with one cluster."""
    acts: list[Act] = [user.Create(begin, wanted.name, wanted)]
    acts += [_deed(chance, wanted, begin + _when(chance), most) for _ in range(chance.randint(0, most))]
    if chance.random() < 0.45:
        end = begin + _when(chance)
        acts = [*(each for each in acts if each.at < end), user.Delete(end, wanted.name)]
        if chance.random() < 0.15:
            acts.append(user.Create(round(end + chance.uniform(0, 40), 1), wanted.name, wanted))
    return acts


def _deed(chance: random.Random, wanted: Wish, at: float, most: int) -> Act:
    name, lasts = wanted.name, round(chance.uniform(5, 200), 1)
    deeds = ["scale", "scale", "planes", "upgrade", "roll", "pause", "label", "delete", "wrong", "wrong", "secret"]
    deeds += ["planes", "upgrade"] if wanted.hosted else []
    deeds += ["addon"] * 3 if wanted.addon else []
    match chance.choice(deeds):
        case "scale":
            return user.Scale(at, name, chance.choice([0, 1, 1, 2] if most == 1 else [0, 1, 2, 3]))
        case "planes":
            return user.ScaleControlPlane(at, name, chance.choice([1, 2, 3] if wanted.hosted else [1, 3]))
        case "upgrade":
            return user.Upgrade(at, name, NEW)
        case "roll":
            return user.Roll(at, name, chance.choice([MEMORY, LARGE]))
        case "pause":
            return user.Pause(at, name, lasts)
        case "label":
            return user.Label(at, name, chance.choice(["red", "green"]))
        case "addon":
            return user.EditAddon(at, name, chance.choice(WORDS))
        case "delete":
            return user.DeleteMachine(at, name, chance.randint(0, 5))
        case "secret":
            return user.WrongSecret(at, lasts)
        case _:
            wrong = chance.choice([user.WrongTemplate, user.TooMuchMemory, user.WrongVersion])
            return wrong(at, name, lasts)


def _hosting_accident(chance: random.Random) -> Act:
    """Half of them befall the data center."""
    at, lasts = _when(chance), round(chance.uniform(5, 200), 1)
    match chance.randint(0, 7):
        case 0 | 1:
            return accidents.ProgramDies(at, chance.randint(0, 11))
        case 2:
            return accidents.StoreAway(at, lasts)
        case 3:
            return accidents.Reboot(at, round(chance.uniform(0.5, 60), 1))
        case _:
            return _accident(chance)


def _accident(chance: random.Random) -> Act:
    at, lasts = _when(chance), round(chance.uniform(5, 400), 1)
    host = chance.choice(HOSTS)
    match chance.randint(0, 11):
        case 0 | 1:
            return accidents.HostOff(at, host, lasts, chance.random() < 0.3)
        case 2:
            return accidents.HostSlow(at, host, lasts, chance.choice([0.0, 2.0, 8.0]))
        case 3 | 4:
            kind = chance.choice([TaskKind.FAIL, TaskKind.FAIL, TaskKind.DIE])
            return accidents.TasksFail(at, chance.choice(TASKS), kind, chance.randint(1, 3), lasts)
        case 5:
            return accidents.Vanish(at, chance.randint(0, 5))
        case 6:
            return accidents.Stop(at, chance.randint(0, 5))
        case 7:
            return accidents.Migrate(at, chance.randint(0, 5), host)
        case 8:
            return accidents.StorageFull(at, chance.choice(["local-lvm", "local"]), lasts, chance.random() < 0.3)
        case 9:
            return accidents.TakeNumber(at)
        case 10:
            return accidents.RightMissing(at, *chance.choice(grants()), lasts)
        case _:
            return accidents.TenantHangs(at, CLUSTERS[0], lasts)


def _fault(chance: random.Random, hosting: bool) -> Act:
    at, seed = _when(chance), chance.getrandbits(32)
    ways = [each for each in Way if hosting or each is not Way.STORES]
    way, fate = chance.choice(ways), chance.choice([*Fate])
    match chance.randint(0, 6):
        case 0 | 1:
            share = chance.choice([0.05, 0.2, 0.5])
            return faults.CallsFail(at, way, fate, share, round(chance.uniform(5, 120), 1), seed)
        case 2 | 3:
            return faults.CallFails(at, way, fate, chance.randint(0, 60))
        case 4:
            watched = chance.choice([Way.MANAGEMENT, Way.MANAGEMENT, Way.TENANTS])
            return faults.WatchesFail(at, watched, chance.choice([0.05, 0.3]), round(chance.uniform(5, 150), 1), seed)
        case _:
            return faults.Crash(at, chance.randint(0, 40), round(chance.uniform(0.5, 60), 1))


def _when(chance: random.Random) -> float:
    """More happens at the beginning, when most is done."""
    return round(LENGTH * chance.random() ** 2, 2)
