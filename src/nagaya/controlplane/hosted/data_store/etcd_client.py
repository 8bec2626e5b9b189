"""A client of an etcd in which users come and go.

While users or roles are changed etcd refuses whatever is under way, of anybody: it can no longer tell whether it is
still allowed. Such a call had no effect and is made again, as etcd's own client does; without that, one tenant that
comes would break the copy of another.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

from nagaya.kube.etcd.auth import Auth
from nagaya.kube.etcd.caller import CALL_TIMEOUT, Caller
from nagaya.kube.etcd.channel import Channel
from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import InvalidArgument
from nagaya.kube.etcd.kv import Kv
from nagaya.kube.etcd.leases import Leases
from nagaya.kube.etcd.maintenance import Maintenance
from nagaya.wire.protobuf import Message

_USERS_CHANGED: Final = "etcdserver: revision of auth store is old"
_PAUSES: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

M = TypeVar("M", bound=Message)


class PatientCaller(Caller):
    """Asks again when users were changed meanwhile."""

    async def ask(self, method: str, request: Message, kind: type[M], timeout: float | None = None) -> M:
        """Make a call. Raises EtcdError."""
        for pause in _PAUSES:
            try:
                return await super().ask(method, request, kind, timeout)
            except InvalidArgument as error:
                if error.words != _USERS_CHANGED:
                    raise
            await asyncio.sleep(pause)
        return await super().ask(method, request, kind, timeout)


class StoreClient(EtcdClient):
    """One member of a store that tenants share."""

    def __init__(self, channel: Channel, *, timeout: float = CALL_TIMEOUT) -> None:
        super().__init__(channel, timeout=timeout)
        caller = PatientCaller(channel, timeout)
        self.maintenance = Maintenance(caller)
        self.kv = Kv(caller)
        self.leases = Leases(caller)
        self.auth = Auth(caller)
