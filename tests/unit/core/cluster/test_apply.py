"""What comes of plans that cannot be carried out at once."""

from __future__ import annotations

import asyncio
import base64

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.pki.authority import CertificateAuthority
from support.builders import CLUSTER, CONTROL_PLANE
from support.harbour import (
    KEY,
    NAMESPACE,
    SECRETS,
    grow,
    harbour,
    provision,
)
from support.seen_cluster import BOTH, ENDPOINT, INFRASTRUCTURE
from support.virtual_run import run


def test_what_is_refused_in_one_place_holds_up_nothing_else_and_is_tried_again() -> None:
    async def main() -> None:
        async with harbour() as here:
            here.process.transport.refused = "boatclusters"
            await grow(here)
            found = await here.cluster()
            assert found.status.phase == "Provisioned"
            assert (await here.user.get(CONTROL_PLANE, NAMESPACE, CLUSTER)).metadata.owner_references
            assert not (await here.user.get(INFRASTRUCTURE, NAMESPACE, CLUSTER)).metadata.owner_references
            await here.delete(CLUSTERS)
            await here.change(CONTROL_PLANE, metadata={"finalizers": None})
            status, reason, message = await here.told("Deleting")
            assert (status, reason) == ("True", "InternalError")
            assert "not in this harbour" in message
            here.process.transport.refused = ""
            await asyncio.sleep(1000)
            await here.change(INFRASTRUCTURE, metadata={"finalizers": None})
            assert not await here.exists(CLUSTERS)

    run(main())


def test_a_cluster_of_machines_made_by_hand_gets_a_kubeconfig_and_is_connected() -> None:
    async def main() -> None:
        async with harbour() as here:
            ref = {"infrastructureRef": BOTH["infrastructureRef"]}
            await here.make(CLUSTERS, spec={**ref, "controlPlaneEndpoint": ENDPOINT})
            await here.make(INFRASTRUCTURE)
            assert not await here.exists(SECRETS, f"{CLUSTER}-kubeconfig")
            authority = CertificateAuthority.create("kubernetes", here.world.clock)
            data = {"tls.crt": authority.certificate_pem, "tls.key": authority.key_pem}
            encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
            await here.make(SECRETS, f"{CLUSTER}-ca", data=encoded)  # without a label: no event tells of it
            await asyncio.sleep(31)
            assert await here.exists(SECRETS, f"{CLUSTER}-kubeconfig")
            assert (await here.told("RemoteConnectionProbe"))[2] == "Remote connection not established yet"
            assert here.process.remotes.get(KEY) is None
            await provision(here)
            await asyncio.sleep(1)
            assert here.process.remotes.get(KEY) is not None
            await here.settled()
            assert await here.told("RemoteConnectionProbe") == ("True", "ProbeSucceeded", "")
            here.tenant.hung = True
            await asyncio.sleep(40)
            assert (await here.told("RemoteConnectionProbe"))[0] == "True"
            await asyncio.sleep(15)
            assert (await here.told("RemoteConnectionProbe"))[:2] == ("False", "ProbeFailed")
            here.tenant.hung = False
            await asyncio.sleep(120)
            assert (await here.told("RemoteConnectionProbe"))[0] == "True"
            await here.delete(CLUSTERS)
            await here.delete(INFRASTRUCTURE) if await here.exists(INFRASTRUCTURE) else None
            await asyncio.sleep(1)
            assert here.process.remotes.get(KEY) is None

    run(main())
