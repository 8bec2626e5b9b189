"""A plane in which nothing happens does nothing, and a tenant that hangs holds up nobody else."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from nagaya.kube.transport import Call
from support.crashes import MortalLab
from support.lab import holds
from support.manifests.simulated import Manifest, Simulated
from support.simulation import stage
from support.virtual_run import run

CLUSTERS = 100
PEACE = 600.0
OTHERS = 3
HUNG = 12
"""More than a controller has workers: if one of them waited, all would."""
HANGING = {"faults": [{"stage": "Run", "mode": "Hang"}]}


@pytest.mark.long("builds a hundred clusters")
def test_a_hundred_clusters_in_which_nothing_happens_are_not_written_to() -> None:
    async def main() -> None:
        manifests = [each for number in range(CLUSTERS) for each in Simulated(f"c{number}", workers=1).manifests()]
        async with stage() as played, played.lab(*manifests) as lab:
            await lab.start()
            await _all_available(lab, CLUSTERS)
            await lab.rest()
            lab.mortal.writes.clear()
            lab.mortal.reads.clear()
            await asyncio.sleep(PEACE)
            assert not lab.mortal.writes, Counter(map(_what, lab.mortal.writes))
            # Watches end now and then and begin again where they were: nothing has to be read for that.
            assert not lab.mortal.reads, Counter(map(_what, lab.mortal.reads))

    run(main())


def test_tenants_that_hang_delay_no_other_cluster() -> None:
    async def main() -> None:
        async with stage() as played:
            alone = [each for number in range(OTHERS) for each in Simulated(f"well{number}", workers=1).manifests()]
            async with played.lab(*alone) as lab:
                await lab.start()
                undisturbed = await _time_to_available(lab)
                await _delete_all(lab)
            hung = [each for number in range(HUNG) for each in _hanging(f"hung{number}")]
            async with played.lab(*hung, *alone) as lab:
                await lab.start()
                disturbed = await _time_to_available(lab)
                sick = [each for each in await lab.all("Cluster") if each.metadata.name.startswith("hung")]
                assert len(sick) == HUNG
                assert not any(holds(each, "Available") for each in sick), "they should hang"
                assert disturbed <= undisturbed + 0.5, f"{disturbed} s beside {HUNG} that hang, {undisturbed} s without"

    run(main())


def _hanging(name: str) -> list[Manifest]:
    made = Simulated(name, workers=1)
    return [{**each, "spec": HANGING} if each["kind"] == "SimulatedCluster" else each for each in made.manifests()]


async def _time_to_available(lab: MortalLab) -> float:
    """Seconds until all clusters that do not hang are Available."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await _all_available(lab, OTHERS, "well")
    return loop.time() - begin


async def _all_available(lab: MortalLab, count: int, prefix: str = "") -> None:
    async def check() -> bool:
        clusters = [each for each in await lab.all("Cluster") if each.metadata.name.startswith(prefix)]
        return len(clusters) == count and all(holds(each, "Available") for each in clusters)

    await lab.until(f"{count} clusters are Available", check)


async def _delete_all(lab: MortalLab) -> None:
    for cluster in await lab.all("Cluster"):
        await lab.delete("Cluster", cluster.metadata.name)
    await lab.gone("any")


def _what(call: Call) -> str:
    return f"{call.method} {'/'.join(part for part in call.path.split('/')[:7])}"
