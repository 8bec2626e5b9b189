"""An etcd in which hosted control planes have their data: a stand-in that answers as one, without a network.

It knows keys, users, roles and what these may touch, and refuses with etcd's own words. What is asked of it takes
effect, or does not, as the weather has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Self, cast

from nagaya.controlplane.hosted.data_store.etcd_client import StoreClient
from nagaya.kube.etcd.caller import CALL_TIMEOUT
from nagaya.kube.etcd.channel import Channel
from nagaya.kube.etcd.client import DIAL_TIMEOUT
from nagaya.kube.etcd.errors import ConnectionLost, from_status
from nagaya.simulators.tenant.etcd.keys import Keys
from nagaya.wire import protobuf
from nagaya.wire.etcd import auth, kv
from nagaya.wire.etcd.header import Nothing, OnlyHeader, ResponseHeader
from nagaya.wire.etcd.maintenance import AlarmRequest, AlarmResponse, StatusResponse
from nagaya.wire.grpc import Code
from nagaya.wire.protobuf import Message
from support.plane.weather import Fate, Way, Weather

VERSION: Final = "3.6.8"
LATE: Final = 3.0
FOREVER: Final = 86_400.0
_USER_UNKNOWN: Final = "etcdserver: user name not found"
_USER_KNOWN: Final = "etcdserver: user name already exists"
_ROLE_UNKNOWN: Final = "etcdserver: role name not found"
_ROLE_KNOWN: Final = "etcdserver: role name already exists"

Answer = Callable[[Any], Message]


class _Refused(Exception):
    """What etcd says instead of doing it."""


class StoreRoom:
    """One etcd."""

    def __init__(self) -> None:
        self.keys = Keys()
        self.users: dict[str, list[str]] = {}
        """The roles of each."""
        self.roles: dict[str, list[auth.Permission]] = {}
        self.running = False
        self.away = False
        self.deleted: Callable[[], None] = lambda: None
        """Told when keys were deleted."""
        self._guarded = False
        self._calls: Mapping[str, tuple[type[Message], Answer]] = {
            "KV/Range": (kv.RangeRequest, self.keys.range),
            "KV/Put": (kv.PutRequest, self.keys.put),
            "KV/DeleteRange": (kv.DeleteRangeRequest, self._delete),
            "Maintenance/Status": (Nothing, lambda _: StatusResponse(version=VERSION, leader=1)),
            "Maintenance/Alarm": (AlarmRequest, lambda _: AlarmResponse()),
            "Auth/AuthStatus": (Nothing, lambda _: auth.AuthStatusResponse(enabled=self._guarded)),
            "Auth/AuthEnable": (Nothing, self._enable),
            "Auth/UserAdd": (auth.UserAddRequest, self._add_user),
            "Auth/UserGet": (auth.UserRequest, lambda asked: auth.UserGetResponse(roles=tuple(self._user(asked.name)))),
            "Auth/UserDelete": (auth.UserRequest, self._delete_user),
            "Auth/UserGrantRole": (auth.UserRoleRequest, self._grant_role),
            "Auth/UserRevokeRole": (auth.UserRoleRequest, self._revoke_role),
            "Auth/RoleAdd": (auth.RoleRequest, self._add_role),
            "Auth/RoleGet": (
                auth.RoleRequest,
                lambda asked: auth.RoleGetResponse(permissions=tuple(self._role(asked.role))),
            ),
            "Auth/RoleDelete": (auth.RoleRequest, self._delete_role),
            "Auth/RoleGrantPermission": (auth.RoleGrantPermissionRequest, self._grant),
            "Auth/RoleRevokePermission": (auth.RoleRevokePermissionRequest, self._revoke),
        }

    @property
    def answers(self) -> bool:
        """Whether anybody can reach it."""
        return self.running and not self.away

    @property
    def tenants(self) -> set[str]:
        """The first part of each key: whose it is."""
        found = self.keys.range(kv.RangeRequest(key=b"/", range_end=b"0", keys_only=True))
        return {each.key.decode().split("/")[1] for each in found.kvs}

    def has(self, prefix: str) -> bool:
        """Whether there are keys of a tenant."""
        return prefix.strip("/") in self.tenants

    def admits(self, prefix: str) -> bool:
        """Whether some user may write the keys of a tenant."""
        wanted = f"{prefix}/".encode()
        granted = {role for role, given in self.roles.items() if any(each.key == wanted for each in given)}
        return any(granted.intersection(roles) for roles in self.users.values())

    def ask(self, method: str, message: bytes) -> bytes:
        """What is answered to a call. Raises EtcdError."""
        kind, answer = self._calls[method]
        try:
            return protobuf.encode(answer(protobuf.decode(kind, message)))
        except _Refused as refusal:
            raise from_status(method, Code.FAILED_PRECONDITION, str(refusal)) from None

    def _delete(self, asked: kv.DeleteRangeRequest) -> Message:
        found = self.keys.delete(asked)
        self.deleted()
        return found

    def _enable(self, _: Nothing) -> Message:
        self._guarded = True
        return OnlyHeader(ResponseHeader())

    def _user(self, name: str) -> list[str]:
        if name not in self.users:
            raise _Refused(_USER_UNKNOWN)
        return self.users[name]

    def _role(self, name: str) -> list[auth.Permission]:
        if name not in self.roles:
            raise _Refused(_ROLE_UNKNOWN)
        return self.roles[name]

    def _add_user(self, asked: auth.UserAddRequest) -> Message:
        if asked.name in self.users:
            raise _Refused(_USER_KNOWN)
        self.users[asked.name] = []
        return OnlyHeader()

    def _delete_user(self, asked: auth.UserRequest) -> Message:
        self._user(asked.name)
        del self.users[asked.name]
        return OnlyHeader()

    def _grant_role(self, asked: auth.UserRoleRequest) -> Message:
        roles = self._user(asked.user)
        self._role(asked.role)
        if asked.role not in roles:
            roles.append(asked.role)
        return OnlyHeader()

    def _revoke_role(self, asked: auth.UserRoleRequest) -> Message:
        self._user(asked.user).remove(asked.role)
        return OnlyHeader()

    def _add_role(self, asked: auth.RoleRequest) -> Message:
        if asked.role in self.roles:
            raise _Refused(_ROLE_KNOWN)
        self.roles[asked.role] = []
        return OnlyHeader()

    def _delete_role(self, asked: auth.RoleRequest) -> Message:
        self._role(asked.role)
        del self.roles[asked.role]
        for roles in self.users.values():
            if asked.role in roles:
                roles.remove(asked.role)
        return OnlyHeader()

    def _grant(self, asked: auth.RoleGrantPermissionRequest) -> Message:
        self._role(asked.role).append(asked.permission)
        return OnlyHeader()

    def _revoke(self, asked: auth.RoleRevokePermissionRequest) -> Message:
        given = self._role(asked.role)
        given[:] = [each for each in given if (each.key, each.range_end) != (asked.key, asked.range_end)]
        return OnlyHeader()


class StoreWay:
    """The way of one process to the store, in all weathers, which ends with it."""

    def __init__(self, store: StoreRoom, weather: Weather, death: asyncio.Event, seen: Callable[[str], None]) -> None:
        self._store = store
        self._weather = weather
        self._death = death
        self._seen = seen

    async def dial(self, endpoint: str, seconds: float) -> Channel:
        """A connection. Raises ConnectionLost."""
        self._expect_life("connect")
        if self._store.running and self._store.away:
            await asyncio.sleep(seconds)
            raise ConnectionLost("connect", f"{endpoint} took no connection, as it is told in the story", sent=False)
        if not self._store.running:
            raise ConnectionLost("connect", f"{endpoint} cannot be reached: Connection refused", sent=False)
        return cast(Channel, _Line(self))

    async def ask(self, method: str, message: bytes) -> bytes:
        """Make a call, maybe."""
        self._expect_life(method)
        fate = self._weather.fate(Way.STORES)
        self._seen(f"{Way.STORES}: {method}" + (f" {fate}" if fate is not None else ""))
        if fate is Fate.REFUSED or not self._store.running:
            raise ConnectionLost(method, "refused, as it is told in the story", sent=False)
        if fate is Fate.ERROR:
            raise from_status(method, Code.UNAVAILABLE, "etcdserver: request timed out")
        if fate is Fate.HANGS or self._store.away:
            await asyncio.sleep(FOREVER)
        answer = self._store.ask(method, message)
        if fate is Fate.LATE:
            await asyncio.sleep(LATE)
        if fate is Fate.HANGS_AFTER:
            await asyncio.sleep(FOREVER)
        self._expect_life(method)
        if fate is Fate.LOST:
            raise ConnectionLost(method, "lost, as it is told in the story", sent=True)
        return answer

    def _expect_life(self, method: str) -> None:
        if self._death.is_set():
            raise ConnectionLost(method, "the process was killed", sent=False)


class _Line:
    """A connection."""

    failure: str | None = None

    def __init__(self, way: StoreWay) -> None:
        self._way = way

    async def call(self, method: str, *, timeout: float | None = None) -> _Exchange:
        return _Exchange(self._way, method)

    async def close(self) -> None:
        """Nothing is open."""


class _Exchange:
    """One question and its answer."""

    def __init__(self, way: StoreWay, method: str) -> None:
        self._way = way
        self._method = method
        self._asked: bytes | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is under way."""

    async def send(self, message: bytes, *, end: bool) -> None:
        self._asked = message

    async def receive(self) -> bytes | None:
        asked, self._asked = self._asked, None
        return None if asked is None else await self._way.ask(self._method, asked)


def client_over(way: Callable[[], StoreWay]) -> type[StoreClient]:
    """The client that drivers use, on the way that there is when they connect, and on no network."""

    class Client(StoreClient):
        """A client of the stand-in."""

        @classmethod
        async def connect(
            cls,
            endpoint: str,
            context: object = None,
            *,
            timeout: float = CALL_TIMEOUT,
            dial_timeout: float = DIAL_TIMEOUT,
        ) -> Self:
            return cls(await way().dial(endpoint, dial_timeout), timeout=timeout)

    return Client
