"""What an etcd needs done from time to time besides being asked.

It forgets history by itself (`--auto-compaction-*`), but gives the space back only when told to; and a database that
once reached its quota takes no writes, even with space, until its alarm is disarmed. While a member defragments it
answers nothing, so it is done when there is much to gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.wire.etcd.maintenance import AlarmType, StatusResponse

WORTH: Final = 100 << 20
"""Bytes that must be won, so that a small database is never stopped for nothing."""
_FULL: Final = 0.8
"""The part of the quota beyond which writes would soon be refused again."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What is to be done, and why."""

    defragment: bool
    disarm: bool
    sentence: str


def plan(status: StatusResponse, *, is_alarmed: bool) -> Upkeep:
    """What a member needs, by what it says of itself."""
    free = status.db_size - status.db_size_in_use
    quota = status.db_size_quota
    fits = not quota or status.db_size_in_use < _FULL * quota
    if is_alarmed and fits:
        return Upkeep(free > 0, True, "The database had reached its quota and has space again: it may be written.")
    if is_alarmed:
        sentence = f"The database has reached its quota: {status.db_size_in_use} of {quota} bytes are in use."
        return Upkeep(False, False, sentence)
    if free >= WORTH and free > status.db_size_in_use:
        sentence = f"{free} of the database's {status.db_size} bytes are free: they are given back."
        return Upkeep(True, False, sentence)
    return Upkeep(False, False, "Nothing is to be done.")


async def keep_up(driver: EtcdDriver) -> Upkeep:
    """Do what is to be done, for a store of one member. Raises StoreError."""
    async with driver.connected() as client:
        alarms = await client.maintenance.alarms()
        alarmed = any(each.alarm is AlarmType.NOSPACE for each in alarms)
        upkeep = plan(await client.maintenance.status(), is_alarmed=alarmed)
        if upkeep.defragment:
            await client.maintenance.defragment()
        if upkeep.disarm:
            await client.maintenance.disarm(alarm=AlarmType.NOSPACE)
        return upkeep
