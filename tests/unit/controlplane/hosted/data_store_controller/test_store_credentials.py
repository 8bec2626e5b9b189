"""What a DataStore refers to in Secrets: only certificates and keys reach the files of tenants."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import Any, cast

import pytest

from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.clusters.certificates.held import CLUSTER_SECRETS
from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.controlplane.hosted.data_store.postgresql import PostgresqlDriver
from nagaya.controlplane.hosted.data_store_controller.credentials import NotUsable, external_driver
from nagaya.kube.client import Client
from nagaya.pki import keys
from nagaya.pki.certificates import CertificateSpec, to_pem
from support.certificates import AUTHORITY
from support.standing_clock import StandingClock
from support.virtual_run import virtual_world

CERTIFICATE, KEY = AUTHORITY.issue_pair(CertificateSpec("root"), StandingClock())
AROUND = b"apiVersion: v1\nkind: Config\nusers: [{user: {exec: {command: sh}}}]\n# "
CLEAN = {
    "ca.crt": AUTHORITY.certificate_pem,
    "ca.key": AUTHORITY.key_pem,
    "tls.crt": to_pem(CERTIFICATE),
    "tls.key": keys.to_pem(KEY),
    "user": b"nagaya",
}


@dataclass
class Secrets:
    """A management API with one Secret."""

    data: dict[str, bytes]

    async def get(self, kind: object, namespace: str, name: str) -> Any:
        assert kind is CLUSTER_SECRETS
        data = {key: base64.b64encode(value).decode() for key, value in self.data.items()}
        return CLUSTER_SECRETS.convert({"metadata": {"namespace": namespace, "name": name}, "data": data})


def leaf(key: str) -> dict[str, str]:
    return {"namespace": "nagaya", "name": "store", "key": key}


def store(driver: str) -> DataStore:
    tls = {
        "certificateAuthority": {"certificate": leaf("ca.crt"), "privateKey": leaf("ca.key")},
        "clientCertificate": {"certificate": leaf("tls.crt"), "privateKey": leaf("tls.key")},
    }
    spec = {"driver": driver, "endpoints": ["store.example:2379"], "tls": tls}
    return DATA_STORES.convert({"metadata": {"name": "default"}, "spec": spec})


def opened(driver: str, data: dict[str, bytes]) -> Any:
    client = cast("Client", Secrets(data))
    return asyncio.run(external_driver(client, store(driver), virtual_world()))


def test_text_around_certificates_reaches_no_file_of_a_tenant() -> None:
    data = {name: AROUND + b"\n" + value for name, value in CLEAN.items()}
    of_etcd, of_postgresql = opened("etcd", data), opened("PostgreSQL", data)

    assert isinstance(of_etcd, EtcdDriver)
    assert of_etcd._authority.certificate_pem == CLEAN["ca.crt"]
    assert isinstance(of_postgresql, PostgresqlDriver)
    assert of_postgresql._authority == CLEAN["ca.crt"]


@pytest.mark.parametrize("name", ["ca.crt", "tls.crt", "tls.key"])
@pytest.mark.parametrize("driver", ["etcd", "PostgreSQL"])
def test_what_is_no_certificate_or_key_is_refused_without_its_content(driver: str, name: str) -> None:
    with pytest.raises(NotUsable, match="The certificates in the Secrets of") as refused:
        opened(driver, {**CLEAN, name: AROUND})
    assert "exec" not in str(refused.value)
