"""What references lead to, with CRDs and objects as a server has them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import InfrastructureCluster
from nagaya.api.kind import Kind
from nagaya.clusters.external import LISTING_TIMEOUT, Referenced, StillListing, listed, look_up, served
from nagaya.kube.cache.cache import Cache
from nagaya.kube.patches import Merge
from nagaya.kube.runtime import Runtime
from support.harbour import DEFINITIONS, harbour
from support.seen_cluster import INFRASTRUCTURE
from support.virtual_run import run

REFERENCE = ContractReference(api_group=INFRASTRUCTURE.group, kind=INFRASTRUCTURE.kind, name="shop")
NOBODYS = ContractReference(api_group=INFRASTRUCTURE.group, kind="Raft", name="shop")
CRD = f"{INFRASTRUCTURE.plural}.{INFRASTRUCTURE.group}"


def look(rt: Runtime, reference: ContractReference = REFERENCE) -> Referenced[InfrastructureCluster]:
    return look_up(rt, "default", reference, InfrastructureCluster)


def test_an_object_is_there_is_missing_or_goes() -> None:
    async def main() -> None:
        async with harbour() as here:
            rt = here.process.runtime
            await listed(rt.cache, [INFRASTRUCTURE])
            assert (look(rt).missing, look(rt).live, look(rt).problem) == (True, None, "")

            await here.make(INFRASTRUCTURE, "shop", metadata={"name": "shop", "finalizers": ["boats.example.com/held"]})
            found = look(rt)
            assert found.kind == INFRASTRUCTURE
            assert found.provider is not None
            assert found.live is found.provider
            assert (found.missing, found.deleting, found.provider.contract) == (False, False, "v1beta2")

            await here.delete(INFRASTRUCTURE, "shop")
            assert (look(rt).missing, look(rt).deleting, look(rt).live) == (False, True, None)

    run(main())


def test_objects_of_a_kind_that_is_not_installed_are_missing_for_certain() -> None:
    async def main() -> None:
        async with harbour() as here:
            rt = here.process.runtime
            found = look(rt, NOBODYS)
            assert (found.missing, found.installed, found.kind) == (True, False, None)
            assert "Nobody serves the kind Raft" in found.problem
            assert served(rt.kinds, NOBODYS.api_group, NOBODYS.kind) is None

    run(main())


def test_what_cannot_be_understood_may_well_exist() -> None:
    async def main() -> None:
        async with harbour() as here:
            rt = here.process.runtime
            assert served(rt.kinds, REFERENCE.api_group, REFERENCE.kind) == INFRASTRUCTURE
            client = rt.client
            await client.patch(DEFINITIONS, "", CRD, Merge({"metadata": {"labels": None}}))
            await here.settled()
            assert (look(rt).missing, look(rt).installed) == (False, True)
            assert "does not say which contract it fulfils" in look(rt).problem
            assert served(rt.kinds, REFERENCE.api_group, REFERENCE.kind) is None

    run(main())


def test_a_kind_that_takes_long_to_be_listed_does_not_look_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(cache: Cache, *kinds: Kind[Any]) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with harbour() as here:
            rt = here.process.runtime
            with monkeypatch.context() as patch:
                patch.setattr(Cache, "synced", never)
                patch.setattr(Cache, "is_synced", lambda cache, kind: False)
                begun = asyncio.get_running_loop().time()
                with pytest.raises(StillListing, match="are not known yet: listing them takes more than 10 s"):
                    await listed(rt.cache, [INFRASTRUCTURE])
                assert asyncio.get_running_loop().time() - begun == pytest.approx(LISTING_TIMEOUT)
                assert "they are being listed" in look(rt).problem
                assert not look(rt).missing
            await listed(rt.cache, [INFRASTRUCTURE])
            assert look(rt).missing

    run(main())
