"""Clients of the etcd members on a cluster's control plane nodes, through its API server.

kubeadm runs etcd in a static pod `etcd-<node>` of kube-system, and names the member after the node. Which member to ask
for what is the caller's business; this finds one that answers, or the one that leads. Nothing is kept: each client is a
new connection that the caller closes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.kube.errors import ApiError
from nagaya.kube.etcd.caller import CALL_TIMEOUT
from nagaya.kube.etcd.client import CLIENT_PORT, DIAL_TIMEOUT, EtcdClient
from nagaya.kube.etcd.errors import ConnectionLost, EtcdError, NoLeader
from nagaya.kube.streams.stream import Dialer, StreamBroken
from nagaya.kube.transport import NoAnswer
from nagaya.wire.etcd.maintenance import StatusResponse
from nagaya.wire.grpc import Code

NAMESPACE: Final = "kube-system"

Failure = EtcdError | StreamBroken | ApiError | NoAnswer
"""What can be wrong on the way to a member, from near to far: the API server, the way behind it, the member."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A member that answers, and its first answer. The client is the caller's to close."""

    node: str
    client: EtcdClient
    status: StatusResponse

    @property
    def leads(self) -> bool:
        """Whether it was the leader when it answered."""
        return self.status.leader == self.status.header.member_id != 0

    async def close(self) -> None:
        """Let go of the connection."""
        await self.client.close()

    async def __aenter__(self) -> Reached:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class NoMember(Exception):
    """None of the members could be reached; each with the reason."""

    def __init__(self, failures: Sequence[tuple[str, Failure]]) -> None:
        reasons = "; ".join(f"{node}: {failure}" for node, failure in failures)
        super().__init__(f"no etcd member answers on {', '.join(node for node, _ in failures)}: {reasons}")
        self.failures = tuple(failures)


class EtcdPool:
    """The members of one cluster."""

    def __init__(
        self,
        dialer: Dialer,
        context: ssl.SSLContext,
        *,
        dial_timeout: float = DIAL_TIMEOUT,
        call_timeout: float = CALL_TIMEOUT,
        port: int = CLIENT_PORT,
    ) -> None:
        """Times in seconds; `context` is from `client_tls(..., check_name=False)`."""
        self._dialer = dialer
        self._context = context
        self._dial_timeout = dial_timeout
        self._call_timeout = call_timeout
        self._port = port

    async def member(self, node: str) -> Reached:
        """The member on a node, if it answers. Raises one of `Failure`."""
        pod = f"etcd-{node}"
        try:
            async with asyncio.timeout(self._dial_timeout):
                stream = await self._dialer.dial(NAMESPACE, pod, self._port)
                client = await EtcdClient.over(stream, self._context, pod, timeout=self._call_timeout)
        except TimeoutError as error:
            why = f"no connection to {pod} within {self._dial_timeout:g} s"
            raise ConnectionLost("connect", why, sent=False) from error
        try:
            return Reached(node, client, await client.maintenance.status())
        except BaseException:
            await client.close()
            raise

    async def first_available(self, nodes: Sequence[str]) -> Reached:
        """The first member that answers, in this order. Raises NoMember, and ValueError without nodes."""
        if not nodes:
            raise ValueError("there are no nodes on which etcd could run")
        failures: list[tuple[str, Failure]] = []
        for node in nodes:
            try:
                return await self.member(node)
            except (EtcdError, StreamBroken, ApiError, NoAnswer) as failure:
                failures.append((node, failure))
        raise NoMember(failures)

    async def leader(self, nodes: Sequence[str]) -> Reached:
        """The member that leads, found by asking those on these nodes, in this order. Raises NoMember, NoLeader if the
        members know none or it is on none of the nodes, and one of `Failure` if it cannot be reached."""
        reached = await self.first_available(nodes)
        if reached.leads:
            return reached
        async with reached:
            members = await reached.client.cluster.members(linearizable=False)
        node = next((member.name for member in members if member.id == reached.status.leader), "")
        if node not in nodes:
            where = f"on {node}, which is not among the nodes" if node else "known to nobody"
            raise NoLeader("Maintenance/Status", Code.UNAVAILABLE, f"the leader is {where}")
        return await self.member(node)
