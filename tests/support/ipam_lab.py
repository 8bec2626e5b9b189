"""What scenarios with addresses do over and over."""

from __future__ import annotations

from typing import Any

from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS, IPAddressReservation
from support.lab import Lab, condition, message


async def given(lab: Lab) -> dict[str, str]:
    """Which claims have which address."""
    return {each.metadata.name: each.spec.address for each in await lab.all("IPAddress")}


async def served(lab: Lab, *names: str) -> dict[str, str]:
    """Wait until claims are Ready, and return their addresses."""

    async def check() -> bool:
        claims = {each.metadata.name: each for each in await lab.all("IPAddressClaim")}
        found = [claims.get(name) for name in names]
        return all(each is not None and condition(each, "Ready") == ("True", "Ready") for each in found)

    await lab.until(f"{', '.join(names)} have addresses", check)
    addresses = await given(lab)
    return {name: addresses[name] for name in names}


async def refused(lab: Lab, name: str, reason: str, words: str = "") -> str:
    """Wait until a claim is told why it has no address, in some words, and return that."""

    async def check() -> bool:
        found = await lab.get("IPAddressClaim", name)
        return condition(found, "Ready") == ("False", reason) and words in message(found, "Ready")

    await lab.until(f"{name} is refused: {reason}", check)
    return message(await lab.get("IPAddressClaim", name), "Ready")


async def gone(lab: Lab, kind: str, name: str) -> None:
    """Wait until an object is gone."""

    async def check() -> bool:
        return await lab.get(kind, name) is None

    await lab.until(f"{kind} {name} is gone", check)


async def told(lab: Lab, pool: str, type: str, reason: str) -> str:
    """Wait until a pool tells something, and return how it says it."""

    async def check() -> bool:
        return condition(await lab.get("InClusterIPPool", pool), type)[1] == reason

    await lab.until(f"{pool} says {reason}", check)
    return message(await lab.get("InClusterIPPool", pool), type)


async def counted(lab: Lab, pool: str, **counts: int) -> None:
    """Wait until a pool counts its addresses like this."""

    async def check() -> bool:
        found: Any = (await lab.get("InClusterIPPool", pool)).status.ip_addresses
        return found is not None and all(getattr(found, name) == count for name, count in counts.items())

    await lab.until(f"{pool} counts {counts}", check)


async def entries(lab: Lab) -> dict[str, IPAddressReservation]:
    """The ledger of the namespace, by address."""
    found = (await lab.client.list(IP_ADDRESS_RESERVATIONS)).items
    return {each.spec.address: each for each in found if each.spec.claim_ref.namespace == lab.namespace}
