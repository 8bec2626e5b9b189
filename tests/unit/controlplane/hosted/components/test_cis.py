"""Automated checks of the CIS Kubernetes Benchmark 1.12 over what is rendered: all pass but those with a waiver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nagaya.controlplane.hosted.components import api_server, cis, controller_manager, etcd, scheduler
from nagaya.controlplane.hosted.components.arguments import values
from nagaya.controlplane.hosted.components.etcd import EtcdFacts
from nagaya.controlplane.hosted.components.facts import EtcdStore, KineStore, ServingFacts, TenantFacts
from nagaya.controlplane.hosted.tenant.configuration import kubelet_configuration
from nagaya.controlplane.hosted.tenant.setup import TenantSetup
from support.hosted_tenancies import pod_facts

ROOT = Path(__file__).parents[5]
STRONG = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    *(
        f"TLS_ECDHE_{signed}_WITH_{cipher}"
        for signed in ("ECDSA", "RSA")
        for cipher in (
            "AES_128_GCM_SHA256",
            "AES_256_GCM_SHA384",
            "CHACHA20_POLY1305",
            "CHACHA20_POLY1305_SHA256",
        )
    ),
}
LOCAL = "127.0.0.1"

Words = Sequence[str]
Check = Callable[[Words], bool]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the programs of one control plane are started with."""

    where: frozenset[cis.Where]
    programs: Mapping[str, Words]


def is_set(*names: str) -> Check:
    return lambda words: all(any(values(words, name)) for name in names)


def unset(name: str) -> Check:
    return lambda words: not any(True for _ in values(words, name))


def equals(name: str, wanted: str) -> Check:
    return lambda words: [*values(words, name)] == [wanted]


def includes(name: str, wanted: str) -> Check:
    return lambda words: any(wanted in each.split(",") for each in values(words, name))


def lacks(name: str, unwanted: str) -> Check:
    return lambda words: all(unwanted not in each.split(",") for each in values(words, name))


def at_least(name: str, least: int) -> Check:
    return lambda words: any(int(each) >= least for each in values(words, name))


def strong_ciphers(words: Words) -> bool:
    return all(each in STRONG for given in values(words, "tls-cipher-suites") for each in given.split(","))


API, MANAGER, SCHEDULER, STORE = "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"
CHECKS: list[tuple[str, str, Check]] = [
    ("1.2.2", API, unset("token-auth-file")),
    ("1.2.4", API, is_set("kubelet-client-certificate", "kubelet-client-key")),
    ("1.2.5", API, is_set("kubelet-certificate-authority")),
    ("1.2.6", API, lacks("authorization-mode", "AlwaysAllow")),
    ("1.2.7", API, includes("authorization-mode", "Node")),
    ("1.2.8", API, includes("authorization-mode", "RBAC")),
    ("1.2.10", API, lacks("enable-admission-plugins", "AlwaysAdmit")),
    ("1.2.12", API, lacks("disable-admission-plugins", "ServiceAccount")),
    ("1.2.13", API, lacks("disable-admission-plugins", "NamespaceLifecycle")),
    ("1.2.14", API, includes("enable-admission-plugins", "NodeRestriction")),
    ("1.2.15", API, equals("profiling", "false")),
    ("1.2.16", API, is_set("audit-log-path")),
    ("1.2.17", API, at_least("audit-log-maxage", 30)),
    ("1.2.18", API, at_least("audit-log-maxbackup", 10)),
    ("1.2.19", API, at_least("audit-log-maxsize", 100)),
    ("1.2.21", API, lacks("service-account-lookup", "false")),
    ("1.2.22", API, is_set("service-account-key-file")),
    ("1.2.23", API, is_set("etcd-certfile", "etcd-keyfile")),
    ("1.2.24", API, is_set("tls-cert-file", "tls-private-key-file")),
    ("1.2.25", API, is_set("client-ca-file")),
    ("1.2.26", API, is_set("etcd-cafile")),
    ("1.2.30", API, equals("service-account-extend-token-expiration", "false")),
    ("1.3.2", MANAGER, equals("profiling", "false")),
    ("1.3.3", MANAGER, equals("use-service-account-credentials", "true")),
    ("1.3.4", MANAGER, is_set("service-account-private-key-file")),
    ("1.3.5", MANAGER, is_set("root-ca-file")),
    ("1.3.6", MANAGER, lacks("feature-gates", "RotateKubeletServerCertificate=false")),
    ("1.3.7", MANAGER, equals("bind-address", LOCAL)),
    ("1.4.1", SCHEDULER, equals("profiling", "false")),
    ("1.4.2", SCHEDULER, equals("bind-address", LOCAL)),
    ("2.1", STORE, is_set("cert-file", "key-file")),
    ("2.2", STORE, equals("client-cert-auth", "true")),
    ("2.3", STORE, lacks("auto-tls", "true")),
    ("2.4", STORE, is_set("peer-cert-file", "peer-key-file")),
    ("2.5", STORE, equals("peer-client-cert-auth", "true")),
    ("2.6", STORE, lacks("peer-auto-tls", "true")),
]
MANUAL: list[tuple[str, str, Check]] = [
    ("1.2.1", API, is_set("authentication-config")),
    ("1.2.29", API, strong_ciphers),
    ("2.7", STORE, is_set("trusted-ca-file")),
    ("3.2.1", API, is_set("audit-policy-file")),
]
"""Checks that people make, and that can be made here."""

KUBELET: list[tuple[str, Callable[[Any], bool]]] = [
    ("4.2.1", lambda config: config["authentication"]["anonymous"]["enabled"] is False),
    ("4.2.2", lambda config: config["authorization"]["mode"] == "Webhook"),
    ("4.2.3", lambda config: bool(config["authentication"]["x509"]["clientCAFile"])),
    ("4.2.6", lambda config: config.get("makeIPTablesUtilChains", True) is True),
    ("4.2.10", lambda config: config.get("rotateCertificates", True) is True),
]


def rendered(facts: TenantFacts, *where: cis.Where) -> Rendered:
    programs = {
        API: api_server.arguments(facts),
        MANAGER: controller_manager.arguments(facts),
        SCHEDULER: scheduler.arguments(facts),
        STORE: etcd.arguments(EtcdFacts("one", "/d/etcd", "/d/pki")),
    }
    return Rendered(frozenset({cis.Where.ALL, *where}), programs)


def process(store: EtcdStore | KineStore) -> TenantFacts:
    return TenantFacts("one", "v1.36.3", ServingFacts("10.0.0.1", "10.0.0.1"), store)


ETCD = EtcdStore(("https://127.0.0.1:2379",), "/t-1", "/d/ca.crt", "/d/store.crt", "/d/store.key")
ALL = {
    "processes": rendered(process(ETCD)),
    "processes with SQL": rendered(process(KineStore("/d/kine.sock")), cis.Where.SQL),
    "pods": rendered(pod_facts(), cis.Where.PODS),
}


@pytest.mark.parametrize("kind", ALL)
def test_exactly_the_checks_with_a_waiver_fail(kind: str) -> None:
    found = ALL[kind]
    failed = {number for number, program, check in CHECKS if not check(found.programs[program])}

    assert failed == {waiver.check for waiver in cis.WAIVERS if waiver.where in found.where}


@pytest.mark.parametrize("kind", ALL)
def test_checks_for_people_pass_where_they_can_be_made(kind: str) -> None:
    assert [number for number, program, check in MANUAL if not check(ALL[kind].programs[program])] == []


def test_what_a_waiver_can_be_lifted_by_lifts_it() -> None:
    facts = pod_facts({"version": "v1.36.3", "kubelet": {"verifyServingCertificates": True}})
    check = next(check for number, _, check in CHECKS if number == "1.2.5")

    assert check(api_server.arguments(facts))


def test_kubelets_are_told_what_the_benchmark_asks() -> None:
    config = kubelet_configuration(TenantSetup("one", "v1.36.3", "10.0.0.1:6443", b""))

    assert [number for number, check in KUBELET if not check(config)] == []


def test_every_waiver_is_documented_with_its_reason() -> None:
    page = (ROOT / "docs/hosted-control-planes.md").read_text()

    for waiver in cis.WAIVERS:
        assert f"| {waiver.check} | {waiver.asks} | {waiver.where} | {waiver.reason} |" in page
