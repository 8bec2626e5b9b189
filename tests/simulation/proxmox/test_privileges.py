"""A token that lacks a privilege: whoever waits reads which one, and goes on when it is granted."""

from __future__ import annotations

import asyncio

import pytest

from support.proxmox_town import Town, play, town
from support.proxmox_town_layout import grants, taken
from support.proxmox_town_life import CREATE, DELETE, HEAL, SCALE_DOWN, SCALE_UP, Phase, live
from support.proxmox_town_manifests import Shop
from support.thoroughness import choose

pytestmark = pytest.mark.long("plays a cluster's whole life")

LACKING = 200.0
"""Seconds for which it is missing."""
DISPENSABLE = frozenset(
    {
        ("/pool/nagaya", "VM.Clone"),
        ("/pool/nagaya", "VM.GuestAgent.FileRead"),
        ("/sdn/zones/localnetwork", "SDN.Audit"),
    }
)
"""What nothing fails without."""
INVISIBLE = {("/pool/images", "VM.Audit"): "TemplateNotFound"}
"""What cannot be told from things that are not there: no list says that it leaves something out."""
PAUSE, WAITED, SEEN = 300.0, 600.0, 90.0
"""Seconds: a pause that has grown, how long that takes, and how soon it is over once it need not be."""
NEEDED = [grant for grant in grants() if grant not in DISPENSABLE]
SAMPLE = [
    ("/", "Sys.Audit"),
    ("/nodes", "Sys.Audit"),
    ("/pool/images", "VM.Audit"),
    ("/pool/nagaya", "Pool.Audit"),
    ("/pool/nagaya", "VM.Config.Cloudinit"),
    ("/sdn/zones/localnetwork", "SDN.Use"),
    ("/storage", "Datastore.AllocateSpace"),
]
"""One privilege for each path, and two for the pool of the machines: to see the pool, and to configure a machine."""
CASES = choose(SAMPLE, NEEDED)


def test_the_sample_has_a_needed_privilege_of_each_path() -> None:
    assert {*SAMPLE} <= {*NEEDED}
    assert {path for path, _ in SAMPLE} == {path for path, _ in NEEDED}


@pytest.mark.parametrize(("path", "privilege"), CASES, ids=[f"{path}-{name}" for path, name in CASES])
def test_a_missing_privilege_is_named_and_once_granted_all_goes_on(path: str, privilege: str) -> None:
    async def before(here: Town, _: Phase) -> None:
        taken(here.datacenter, path, privilege)

    async def during(here: Town, phase: Phase) -> None:
        await asyncio.sleep(LACKING)
        words = INVISIBLE.get((path, privilege), privilege)
        if phase is CREATE:
            told = here.witness.heard(words)
            assert told, f"nobody named {privilege}\n{await here.story()}"
            says_what_to_do = any("pveum" in str(each) or "credentials need" in str(each) for each in told)
            assert (path, privilege) in INVISIBLE or says_what_to_do, told[0]
        taken(here.datacenter, path, privilege, back=True)

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE, SCALE_UP, SCALE_DOWN, HEAL, DELETE), before, during)

    play(main())


@pytest.mark.parametrize(
    ("phase", "privilege"), [(SCALE_UP, "VM.PowerMgmt"), (SCALE_DOWN, "VM.PowerMgmt")], ids=["made", "deleted"]
)
def test_a_machine_does_not_wait_out_its_pause_once_the_privilege_is_granted(phase: Phase, privilege: str) -> None:
    """The pause has grown to minutes by then; that the right is there is seen within one of them."""

    async def longest_pause(here: Town) -> float:
        now = here.world.clock.now()
        later = [each.status.retry_after for each in await here.all("ProxmoxMachine")]
        return max([(each - now).total_seconds() for each in later if each is not None], default=0.0)

    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            await live(here, (CREATE,) if phase is SCALE_UP else (CREATE, SCALE_UP))
            taken(here.datacenter, "/pool/nagaya", privilege)

            async def during(here: Town, _: Phase) -> None:
                async def waits() -> bool:
                    return await longest_pause(here) >= PAUSE

                await here.until("a machine waits for long", waits, WAITED)
                taken(here.datacenter, "/pool/nagaya", privilege, back=True)
                await asyncio.sleep(SEEN)
                assert not await longest_pause(here), await here.story()

            await live(here, (phase,), during=during)

    play(main())


@pytest.mark.parametrize(("path", "privilege"), sorted(DISPENSABLE), ids=lambda each: each)
def test_what_is_only_convenient_is_not_needed(path: str, privilege: str) -> None:
    async def main() -> None:
        async with town(Shop(1, 1)) as here:
            await here.begin()
            taken(here.datacenter, path, privilege)
            await live(here, (CREATE, DELETE))

    play(main())
