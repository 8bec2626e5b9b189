"""Machines, and the boot data that Cluster API's own provider hands to them (recorded by tools/bootstrap-oracle)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.bootstrap.certificate_files import ControlPlaneCertificates
from nagaya.bootstrap.data import BootstrapData, FirstControlPlane, FurtherControlPlane, Worker
from nagaya.bootstrap.kubeadm_api import ClusterFacts
from nagaya.bootstrap.preparation import Preparation
from nagaya.pki.key_pair import KeyPair

RECORDED = Path(__file__).parents[1] / "unit" / "bootstrap" / "recorded.jsonl"
PURPOSES = {
    "ca": "cluster_authority",
    "etcd": "etcd_authority",
    "proxy": "front_proxy_authority",
    "sa": "service_account",
    "apiserver-etcd-client": "etcd_client",
}


@dataclass(frozen=True, slots=True)
class RecordedBoot:
    """One machine: what was asked and what came."""

    name: str
    role: str
    format: str
    data: BootstrapData
    upstream: str


def recorded_boots() -> list[RecordedBoot]:
    """All of them."""
    with RECORDED.open(encoding="utf-8") as file:
        return [_boot(json.loads(line)) for line in file]


def machine(role: str, version: str, spec: KubeadmConfigSpec, **more: Any) -> BootstrapData:
    """A machine in one of the roles init, join and worker."""
    certificates = more.pop("certificates", ControlPlaneCertificates())
    cluster = more.pop("cluster", ClusterFacts("harbour"))
    preparation = Preparation.of(spec, version, **more)
    if role == "init":
        return FirstControlPlane(
            preparation, cluster, spec.cluster_configuration, spec.init_configuration, certificates
        )
    if role == "join":
        return FurtherControlPlane(preparation, spec.cluster_configuration, spec.join_configuration, certificates)
    return Worker(preparation, spec.join_configuration)


def _boot(line: Mapping[str, Any]) -> RecordedBoot:
    spec = msgspec.convert(line["spec"], KubeadmConfigSpec)
    found = line["cluster"]
    cluster = ClusterFacts(
        found["name"], found["endpoint"], found["dnsDomain"], found["serviceSubnet"], found["podSubnet"]
    )
    pairs = {
        PURPOSES[purpose]: KeyPair(pair["certificate"].encode(), pair["key"].encode())
        for purpose, pair in line["certificates"].items()
    }
    data = machine(line["role"], line["version"], spec, certificates=ControlPlaneCertificates(**pairs), cluster=cluster)
    return RecordedBoot(line["name"], line["role"], spec.format or "cloud-config", data, line["data"])
