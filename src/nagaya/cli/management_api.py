"""What a management API must fulfil before controllers can work with it: it answers, and it knows their kinds.

Whoever starts controllers often starts them together with the API, or before its definitions: that is waited for, with
a line that says what is missing and how to get it, and work begins by itself when it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final

from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.definitions import DEFINITIONS, missing
from nagaya.kube.errors import Expired, Forbidden, NotFound, ServerError, TooManyRequests
from nagaya.kube.transport import NoAnswer, NoCredentials

Tell = Callable[[str], None]

ANSWER_TIMEOUT: Final = 5.0
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 5.0
_PASSES: Final = (NoAnswer, ServerError, TooManyRequests)


async def answers(client: Client, tell: Tell) -> None:
    """Wait until the API answers. Raises Unauthorized if it does not know who asks, NoCredentials if there are none."""
    told, pause = "", FIRST_PAUSE
    while True:
        try:
            with suppress(Forbidden, NotFound):  # an answer all the same
                await client.raw("GET", "/version", timeout=ANSWER_TIMEOUT)
        except NoCredentials:
            raise
        except _PASSES as error:
            if str(error) != told:
                told = str(error)
                tell(f"Waiting for the management API. {told}")
        else:
            if told:
                tell("The management API answers.")
            return
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def serves(
    client: Client, kinds: Collection[Kind[Any]], tell: Tell, *, convertible: Collection[Kind[Any]] = ()
) -> None:
    """Wait until the API serves kinds that definitions add to it. Raises ApiError if it may not be asked for them.

    Those that are `convertible` may be there in any version: whoever converts them has them served in the right one.
    """
    told: list[str] = []
    while True:
        try:
            listing = await client.list(DEFINITIONS)
            known = {each.metadata.name: each for each in listing.items}
            absent = missing(kinds, known, convertible)
            if absent and absent != told:
                told = absent
                tell(_explain(absent, kinds))
            still = partial(missing, kinds, convertible=convertible)
            if not absent or await _appear(client, still, known, listing.resource_version):
                break
        except (*_PASSES, Expired) as error:
            tell(f"Waiting for the management API. {error}")
            await asyncio.sleep(LONGEST_PAUSE)
    if told:
        tell("The management API has all kinds now.")


async def _appear(
    client: Client, absent: Callable[[dict[str, Untyped]], list[str]], known: dict[str, Untyped], resource_version: str
) -> bool:
    """Follow the definitions until nothing is missing; False if the server ends the watch before."""
    async with aclosing(client.watch(DEFINITIONS, resource_version=resource_version)) as events:
        async for event in events:
            if event.object is not None:
                known[event.object.metadata.name] = event.object
                if event.type == "DELETED":
                    del known[event.object.metadata.name]
                if not absent(known):
                    return True
    return False


def _explain(absent: Collection[str], kinds: Collection[Kind[Any]]) -> str:
    parts = [part for part, definitions in PARTS.items() if any(each.kind in kinds for each in definitions)]
    return (
        f"Waiting for kinds that the management API does not have: {', '.join(absent)}.\n"
        "Install the definitions: start with --install-crds, or run\n"
        f"  nagaya crds --only {','.join(parts)} | kubectl apply --server-side -f -"
    )
