from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime, timedelta

import pytest

from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.held import CLUSTER_SECRETS, Held, held
from nagaya.clusters.certificates.key_maker import KeyMaker
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.clusters.certificates.wanted import Material
from nagaya.controlplane.kubeadm.workload.etcd_credentials import EtcdCredentials, NoEtcdCredentials
from nagaya.kube.key import Key
from nagaya.pki.authority import CertificateAuthority

CLUSTER = Key("fleet", "harbour")


class Clock:
    """A date that tests move."""

    def __init__(self) -> None:
        self.date = datetime(2026, 11, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.date.timestamp()


class Reader(SecretReader):
    """Reads what a test has put there."""

    def __init__(self, secret: Held | None) -> None:
        self.secret = secret

    async def read(self, cluster: Key, purpose: Purpose, material: Material) -> Held | None:
        assert (cluster, purpose, material) == (CLUSTER, Purpose.ETCD_AUTHORITY, Material.AUTHORITY)
        return self.secret


def authority(clock: Clock, *, key: bool = True) -> Held:
    made = CertificateAuthority.create("etcd-ca", clock)
    data = {"tls.crt": made.certificate_pem, "tls.key": made.key_pem if key else b""}
    content = {name: base64.b64encode(value).decode() for name, value in data.items()}
    metadata = {"namespace": "fleet", "name": "harbour-etcd"}
    return held(
        CLUSTER_SECRETS.convert({"metadata": metadata, "data": content}), Purpose.ETCD_AUTHORITY, Material.AUTHORITY
    )


def credentials(reader: Reader, clock: Clock) -> EtcdCredentials:
    return EtcdCredentials(CLUSTER, reader, KeyMaker(), clock)


async def test_one_certificate_serves_for_a_day() -> None:
    clock = Clock()
    there = credentials(Reader(authority(clock)), clock)
    first, second = await asyncio.gather(there.context(), there.context())
    clock.date += timedelta(hours=23)
    assert first is second is await there.context()
    clock.date += timedelta(hours=2)
    assert await there.context() is not first


async def test_another_authority_is_another_certificate() -> None:
    clock = Clock()
    reader = Reader(authority(clock))
    there = credentials(reader, clock)
    first = await there.context()
    reader.secret = authority(clock)
    assert await there.context() is not first


async def test_names_are_not_checked_but_the_authority_is() -> None:
    context = await credentials(Reader(authority(Clock())), Clock()).context()
    assert not context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"


async def test_without_an_authority_it_is_said_which_is_missing() -> None:
    with pytest.raises(NoEtcdCredentials, match="Secret fleet/harbour-etcd does not exist"):
        await credentials(Reader(None), Clock()).context()


async def test_an_authority_without_a_key_cannot_issue() -> None:
    with pytest.raises(NoEtcdCredentials, match="Secret fleet/harbour-etcd has no key"):
        await credentials(Reader(authority(Clock(), key=False)), Clock()).context()


async def test_an_authority_that_has_ended_cannot_issue() -> None:
    old = authority(Clock())
    clock = Clock()
    clock.date += timedelta(days=4000)
    with pytest.raises(NoEtcdCredentials, match="the signer has expired"):
        await credentials(Reader(old), clock).context()
