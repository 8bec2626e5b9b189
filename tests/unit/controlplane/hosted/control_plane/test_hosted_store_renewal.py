"""A certificate for the data store over most of its life, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from nagaya.controlplane.hosted.control_plane.apply import Apply
from nagaya.controlplane.hosted.control_plane.plan import WriteFiles, plan
from nagaya.controlplane.hosted.control_plane.seen import Seen
from nagaya.controlplane.hosted.data_store.leaf import valid_pair
from nagaya.controlplane.hosted.data_store.tenant import Tenant as StoreTenant
from nagaya.controlplane.hosted.data_store.tenant_store import EtcdTenantStore
from nagaya.controlplane.hosted.phases import Provision
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec, load
from nagaya.pki.key_pair import KeyPair
from support.hosted_seen import Tenant
from support.in_process import MovingClock


class Etcd:
    """A store that issues certificates and nothing else."""

    def __init__(self, clock: MovingClock) -> None:
        self.clock = clock
        self.authority = CertificateAuthority.create("etcd-ca", clock)

    async def provision(self, tenant: StoreTenant, kept: Mapping[str, bytes]) -> EtcdTenantStore:
        pair = KeyPair(kept.get("tls.crt", b""), kept.get("tls.key", b""))
        pair = valid_pair(pair, CertificateSpec(tenant.user), self.authority, self.clock)
        return EtcdTenantStore(("https://127.0.0.1:2379",), tenant.prefix, self.authority.certificate_pem, pair)


class Events:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def normal(self, kind: object, plane: object, reason: str, note: str) -> None:
        self.notes.append(f"{reason}: {note}")


async def test_the_certificate_for_the_store_is_renewed_before_its_end_and_nothing_is_started_again(
    tmp_path: Path,
) -> None:
    tenant, clock, events = Tenant(tmp_path), MovingClock(), Events()
    etcd = Etcd(clock)
    tenant.known.store = None
    observer: Any = SimpleNamespace(
        rt=SimpleNamespace(world=SimpleNamespace(clock=clock), recorder=events),
        stores=SimpleNamespace(get=lambda _: etcd),
        host=SimpleNamespace(admit=lambda _: tenant.folder),
    )
    apply = Apply(observer, cast(Any, None), cast(Any, None), cast(Any, None))

    def seen() -> Seen:
        return replace(tenant.seen(), now=clock.now())

    await apply.all(seen(), plan(seen()))
    tenant.start_all()
    made = tenant.known.store
    ran = dict(tenant.processes)
    clock.passed = timedelta(days=238)  # it was made sure of every day; a third of the certificate's life is left soon
    while clock.passed < timedelta(days=248):
        planned = plan(seen())
        if not planned.actions:
            assert planned.requeue_after is not None
            assert planned.requeue_after <= timedelta(days=1).total_seconds()
            clock.passed += timedelta(seconds=planned.requeue_after)
        elif planned.actions == (Provision(),):
            await apply.all(seen(), planned)
        else:
            assert [type(each) for each in planned.actions] == [WriteFiles]
            tenant.write_files()
        store = tenant.known.store
        assert isinstance(store, EtcdTenantStore)
        assert load(store.client.certificate)[0].not_valid_after_utc - clock.now() > timedelta(days=120)
    assert isinstance(made, EtcdTenantStore)
    assert tenant.known.store != made
    assert tenant.known.store.client.key == made.client.key
    assert tenant.processes == ran
    [note] = events.notes
    assert note.startswith("CertificateRenewed: The certificate for the data store is good until 2027-11-01")
