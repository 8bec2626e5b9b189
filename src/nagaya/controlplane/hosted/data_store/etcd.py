"""One etcd for many tenants: each has a prefix, a user and a role of its own, and is known by its certificate.

The certificates are signed with the key of the store's authority, which never leaves us. Ours is a root user's. Nothing
is kept open: every call dials, asks the first endpoint that answers, and hangs up.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from cryptography.x509.oid import NameOID

from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store import etcd_access, etcd_copies, snapshots
from nagaya.controlplane.hosted.data_store.driver import Health, Usage
from nagaya.controlplane.hosted.data_store.errors import (
    SnapshotDamaged,
    StoreError,
    StoreNotEmpty,
    StoreRefused,
    StoreUnavailable,
)
from nagaya.controlplane.hosted.data_store.etcd_access import keys_of
from nagaya.controlplane.hosted.data_store.etcd_client import StoreClient
from nagaya.controlplane.hosted.data_store.leaf import valid_pair
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import CERTIFICATE, KEY, EtcdTenantStore
from nagaya.kube.etcd.client import EtcdClient, client_tls
from nagaya.kube.etcd.errors import (
    Compacted,
    DeadlineExceeded,
    EtcdError,
    NoSpace,
    PermissionDenied,
    Unauthenticated,
    Unavailable,
)
from nagaya.kube.etcd.kv import after_prefix
from nagaya.pki import certificates
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.wire.etcd.kv import RangeRequest
from nagaya.wire.etcd.maintenance import AlarmType, StatusResponse
from nagaya.world import World

OLDEST: Final = (3, 5, 13)
"""The oldest etcd whose watches tell their progress, which kube-apiserver relies on."""

CALL_TIMEOUT: Final = 15.0
DIAL_TIMEOUT: Final = 5.0


class EtcdDriver:
    """An etcd that is reached over the network."""

    def __init__(
        self, endpoints: Sequence[str], authority: CertificateAuthority, client: KeyPair, world: World
    ) -> None:
        """`endpoints` are host:port; `client` is the certificate of a root user, from `authority`.

        Raises ValueError if the certificate cannot be used.
        """
        self._servers = tuple(f"https://{endpoint}" for endpoint in endpoints)
        self._authority = authority
        self._world = world
        self._tls = client_tls(authority.certificate_pem, client.certificate, client.key, check_name=True)
        [subject] = certificates.load(client.certificate)[0].subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        self._own_name = str(subject.value)

    async def probe(self) -> Health:
        """Dial every endpoint, and read something that a majority of the members has to agree on."""
        answers = await asyncio.gather(*map(self._status_of, self._servers))
        reached = [answer for answer in answers if isinstance(answer, StatusResponse)]
        silent = [str(answer) for answer in answers if isinstance(answer, StoreError)]
        if not reached:
            refused = any(isinstance(answer, StoreRefused) for answer in answers)
            reason = DataStoreReason.NOT_AUTHORIZED if refused else DataStoreReason.UNREACHABLE
            return Health(reason, " ".join(silent))
        version = min((each.version for each in reached), key=_numbers)
        if _numbers(version) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            message = f"etcd is {version}, and kube-apiserver needs {oldest} or newer."
            return Health(DataStoreReason.VERSION_TOO_OLD, message, version)
        try:
            await self._expect_majority()
        except StoreRefused as error:
            return Health(DataStoreReason.NOT_AUTHORIZED, str(error), version)
        except StoreError as error:
            return Health(DataStoreReason.NOT_HEALTHY, str(error), version)
        told = f"etcd {version} answers at {len(reached)} of {len(answers)} endpoints."
        return Health(DataStoreReason.READY, " ".join([told, *silent]), version)

    async def provision(self, tenant: Tenant, kept: Mapping[str, bytes] | None = None) -> EtcdTenantStore:
        """A prefix, a user and a role. The certificate that is kept is used until it is time to renew it."""
        async with self._connected() as client:
            await etcd_access.close_to_strangers(client, self._own_name)
            await etcd_access.admit(client, tenant)
        kept = kept or {}
        pair = KeyPair(kept.get(CERTIFICATE, b""), kept.get(KEY, b""))
        pair = valid_pair(pair, CertificateSpec(tenant.user), self._authority, self._world.clock)
        return EtcdTenantStore(self._servers, tenant.prefix, self._authority.certificate_pem, pair)

    async def deprovision(self, tenant: Tenant) -> None:
        """The user first: whoever still has its certificate cannot write what would be left over."""
        async with self._connected() as client:
            if await client.auth.enabled():
                await etcd_access.expel(client, tenant)
            await etcd_copies.delete_all(client, keys_of(tenant))

    async def usage(self, tenant: Tenant) -> Usage:
        """Keys, and the bytes of keys and values."""
        count = size = 0
        async with self._connected() as client:
            async for page in client.kv.pages(keys_of(tenant)):
                count += len(page.kvs)
                size += sum(len(each.key) + len(each.value) for each in page.kvs)
        return Usage(count, size)

    async def snapshot(self, tenant: Tenant) -> AsyncIterator[bytes]:
        """A copy at the revision of now."""
        prefix = keys_of(tenant)
        async with self._connected() as client:
            counted = RangeRequest(key=prefix, range_end=after_prefix(prefix), count_only=True)
            revision = (await client.kv.range(counted)).header.revision
            head = snapshots.Head(revision, self._world.clock.now().isoformat(timespec="seconds"), tenant.uid)
            async for piece in snapshots.encode(head, etcd_copies.entries(client, prefix, revision)):
                yield piece

    async def restore(self, tenant: Tenant, copy: AsyncIterable[bytes]) -> int:
        """Write a copy into an empty prefix."""
        prefix, reader = keys_of(tenant), snapshots.Reader(copy)
        await reader.head()
        async with self._connected() as client:
            if not await etcd_copies.is_empty(client, prefix):
                raise StoreNotEmpty.of_tenant(tenant.uid)
            try:
                return await etcd_copies.write(client, prefix, reader.pages())
            except SnapshotDamaged:
                await etcd_copies.delete_all(client, prefix)
                raise

    async def snapshot_all(self) -> AsyncIterator[bytes]:
        """The whole store, of all tenants, as a file that `etcdutl snapshot restore` takes."""
        async with self._connected() as client:
            async for piece in client.maintenance.snapshot():
                yield piece

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[EtcdClient]:
        """A client of the first endpoint that answers, as root. Raises StoreError for all that etcd refuses."""
        async with self._connected() as client:
            yield client

    async def _status_of(self, server: str) -> StatusResponse | StoreError:
        try:
            async with _dialled([server], self._tls) as client:
                return await client.maintenance.status()
        except StoreError as error:
            return error

    async def _expect_majority(self) -> None:
        async with self._connected() as client:
            await client.kv.get(b"health")
            if any(each.alarm is AlarmType.NOSPACE for each in await client.maintenance.alarms()):
                raise StoreError(_NO_SPACE)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[EtcdClient]:
        async with _dialled(self._servers, self._tls) as client:
            yield client


_NO_SPACE: Final = (
    "etcd takes no more writes: its database has reached its quota. Remove tenants or raise --quota-backend-bytes, "
    "then compact, defragment and disarm the alarm."
)


@asynccontextmanager
async def _dialled(servers: Sequence[str], context: ssl.SSLContext) -> AsyncIterator[EtcdClient]:
    with _explained(servers):
        failure: EtcdError | None = None
        for server in servers:
            try:
                client = await StoreClient.connect(server, context, timeout=CALL_TIMEOUT, dial_timeout=DIAL_TIMEOUT)
            except EtcdError as error:
                failure = failure or error
                continue
            async with client:
                yield client
            return
        if failure is not None:
            raise failure


@contextmanager
def _explained(servers: Sequence[str]) -> Iterator[None]:
    """Turns what etcd refuses into what is wrong with the store."""
    where = ", ".join(servers)
    try:
        yield
    except (PermissionDenied, Unauthenticated) as error:
        raise StoreRefused(
            f"etcd at {where} does not let Nagaya administer it: {error.words}. "
            "The client certificate must be that of a user with the role root."
        ) from error
    except (Unavailable, DeadlineExceeded) as error:
        raise StoreUnavailable(f"etcd at {where} does not answer: {error.words}.") from error
    except NoSpace as error:
        raise StoreError(_NO_SPACE) from error
    except Compacted as error:
        raise StoreError(
            f"etcd at {where} forgot the revision while it was being copied: the copy took longer than its history "
            "lasts (--auto-compaction-retention). Try again."
        ) from error
    except EtcdError as error:
        raise StoreError(f"etcd at {where}: {error.words}.") from error


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split(".") if part.isdigit())
