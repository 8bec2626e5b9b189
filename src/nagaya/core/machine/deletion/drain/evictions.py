"""Asking pods to leave: several at a time, for a bounded time, and never against a disruption budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from nagaya.core.machine.deletion.drain.judgement import Verdict
from nagaya.core.machine.deletion.drain.report import Report
from nagaya.core.machine.deletion.drain.turns import Turns
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Forbidden, NotFound, TooManyRequests
from nagaya.kube.key import Key
from nagaya.kube.transport import NoAnswer

EVICTION_TIME: Final = 10
"""Seconds that evictions may take at a time. What is left is asked again at the next try."""
AT_A_TIME: Final = 5
"""Evictions under way together. One budget may be concerned by all of them, and the server checks it one by one."""

_TOO_LATE: Final = f"eviction timeout of {EVICTION_TIME}s reached, eviction will be retried"
_NAMESPACE_GOES: Final = (
    "Cannot evict pod from terminating namespace: unable to create eviction "
    "(kube-controller-manager should set deletionTimestamp)"
)
_EVICTED: Final = ""
_GONE: Final = None


async def evict(client: Client, turns: Turns, grace_period: int | None, now: datetime) -> Report:
    """Evict the pods whose turn it is, and tell how that went."""
    outcomes: dict[Key, str | None] = {}
    free = asyncio.Semaphore(AT_A_TIME)

    async def one(verdict: Verdict) -> None:
        async with free:
            outcomes[verdict.key] = await _evict(client, verdict, grace_period)

    try:
        async with asyncio.timeout(EVICTION_TIME), asyncio.TaskGroup() as group:
            for verdict in turns.evict:
                group.create_task(one(verdict))
    except TimeoutError:
        pass  # those without an outcome are told below
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    evicted: list[Key] = []
    failed: dict[str, tuple[Key, ...]] = {}
    for key in _keys(turns.evict):
        outcome = outcomes.get(key, _TOO_LATE)
        if outcome == _EVICTED:
            evicted.append(key)
        elif outcome is not _GONE:
            failed[outcome] = (*failed.get(outcome, ()), key)
    return Report(
        going=(*_keys(turns.going), *evicted),
        failed=failed,
        wait=_keys(turns.wait),
        evict_later=_keys(turns.evict_later),
        wait_later=_keys(turns.wait_later),
        evicted=bool(evicted),
        ends=turns.ends(now),
    )


async def _evict(client: Client, verdict: Verdict, grace_period: int | None) -> str | None:
    """Why a pod could not be evicted; empty if it was, None if it is not there any more."""
    metadata = verdict.pod.metadata
    try:
        await client.evict(metadata.namespace, metadata.name, uid=metadata.uid, grace_period=grace_period)
    except NotFound:
        return _GONE
    except TooManyRequests as error:
        causes = ",".join(str(each.get("message", "")) for each in error.causes)
        return f"{error.message} {causes}".rstrip()
    except ApiError as error:
        if isinstance(error, Forbidden) and error.has_cause("NamespaceTerminating"):
            return _NAMESPACE_GOES
        return error.message or str(error)
    except NoAnswer as error:
        return error.why  # without the path, so that pods with the same trouble are told together
    return _EVICTED


def _keys(verdicts: Sequence[Verdict]) -> tuple[Key, ...]:
    return tuple(each.key for each in verdicts)
