from __future__ import annotations

from nagaya.api.cluster.cluster import CLUSTERS, FINALIZER
from nagaya.clusters.finalizer import release
from nagaya.kube.key import Key
from support.harbour import harbour
from support.seen_cluster import BOTH
from support.virtual_run import run

FOREIGN = "boats.example.com/held"


def test_a_finalizer_that_came_after_the_object_was_read_stays() -> None:
    async def main() -> None:
        async with harbour() as here:
            await here.make(CLUSTERS, spec=BOTH)
            rt = here.process.runtime
            read = await here.cluster()
            assert read.metadata.finalizers == (FINALIZER,)
            await here.change(CLUSTERS, metadata={"finalizers": [FINALIZER, FOREIGN]})
            assert await release(rt, rt.api("test"), CLUSTERS, read, FINALIZER)
            left = rt.cache.get(CLUSTERS, Key.of(read))
            assert left is not None
            assert left.metadata.finalizers == (FOREIGN,)

    run(main())


def test_what_is_gone_needs_no_release() -> None:
    async def main() -> None:
        async with harbour() as here:
            await here.make(CLUSTERS, spec=BOTH)
            rt = here.process.runtime
            read = await here.cluster()
            await here.delete(CLUSTERS)
            assert not await here.exists(CLUSTERS)
            assert not await release(rt, rt.api("test"), CLUSTERS, read, FINALIZER)

    run(main())
