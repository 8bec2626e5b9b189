"""A stand-in for what keeps the objects within tenants as they should be."""

from __future__ import annotations

from nagaya.controlplane.hosted.tenant.setup import TenantSetup


class Keeper:
    """Of every tenant: remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[TenantSetup] = []

    def of(self, remote: object) -> Keeper:
        return self

    async def ensure(self, setup: TenantSetup) -> None:
        self.asked.append(setup)
