"""The list of arguments that tenants may give, attacked with every flag that the real programs have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.controlplane.argument_values import ADMISSION_PLUGINS, FEATURE_GATES, duration, integer
from nagaya.api.controlplane.hosted_arguments import (
    ALLOWED,
    KINE,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
    refused,
)

FLAGS: Final[dict[str, list[str]]] = json.loads((Path(__file__).parent / "program_flags.json").read_text())
"""Every flag of Kubernetes 1.36.3, kine 0.14.10 and Konnectivity 0.36.0. A test of the real tier compares it with
`--help`, so a flag of a newer version is looked at before it counts as reviewed."""

HOSTILE: Final = (
    "/etc/shadow",
    "../../ca.crt",
    "pki/ca.crt",
    "ca.crt",
    "~/.ssh/id_rsa",
    "unix:///run/containerd/containerd.sock",
    "@abstract",
    "file:///etc/shadow",
    "http://169.254.169.254/latest/meta-data",
    "https://127.0.0.1:6443",
    "127.0.0.1",
    "127.0.0.1:2379",
    "[::1]:2379",
    "localhost",
    "evil.example.com",
    "0.0.0.0",
    "10.0.0.0/8",
    "true\n--write-config-to=/etc/passwd",
    "1 --debug-socket-path=/tmp/x",
    " true",
    "true ",
    "1\x00",
    "１",
    "TRUE",
    "-1",
    "999999999",
    "1e9",
    "0x7fffffff",
    "999999h",
    "-1h",
    "NaN",
    "inf",
    "",
    "AllAlpha=true",
    "kube:AllAlpha=true",
    "ManifestBasedAdmissionControlConfig=true",
    "x" * 1025,
)


def problems(program: str, *arguments: tuple[str, str]) -> list[tuple[int, str]]:
    return [(each.index, each.part) for each in refused(program, arguments)]


@pytest.mark.parametrize("program", FLAGS)
def test_no_flag_of_the_real_program_takes_a_hostile_value(program: str) -> None:
    for flag in FLAGS[program]:
        accepted = [value for value in HOSTILE if not problems(program, (flag, value))]
        # A controller that does not exist is refused by the program: it is looked up in a list.
        assert [each for each in accepted if flag != "controllers"] == [], flag


@pytest.mark.parametrize("program", FLAGS)
def test_flags_that_are_not_on_the_list_are_refused_with_what_is_near(program: str) -> None:
    for flag in {*FLAGS[program]} - ALLOWED[program].keys():
        (problem,) = refused(program, [(flag, "true")])
        assert problem.part == "name"
        assert f"{flag} is not an argument that {program} accepts from users: " in problem.reason
        near = problem.reason.partition("accepted: ")[2].partition(". ")[0].split(", ")
        assert {*near} <= ALLOWED[program].keys()


@pytest.mark.parametrize("program", FLAGS)
def test_every_flag_on_the_list_is_one_of_the_program(program: str) -> None:
    assert ALLOWED[program].keys() - {*FLAGS[program]} == set()


@pytest.mark.parametrize(
    ("program", "flag", "reason"),
    [
        (KUBE_APISERVER, "audit-webhook-config-file", "no argument may name a file"),
        (KUBE_APISERVER, "authentication-token-webhook-config-file", "no argument may name a file"),
        (KUBE_APISERVER, "tracing-config-file", "no argument may name a file"),
        (KUBE_APISERVER, "tls-sni-cert-key", "no argument may name a file"),
        (KUBE_APISERVER, "debug-socket-path", "no argument may name a file"),
        (KUBE_APISERVER, "allow-metric-labels-manifest", "no argument may name a file"),
        (KUBE_APISERVER, "enable-logs-handler", "it is not on the list"),
        (KUBE_APISERVER, "aggregator-reject-forwarding-redirect", "it is not on the list"),
        (KUBE_APISERVER, "etcd-prefix", "spec.dataStoreRef decides where the data is"),
        (KUBE_APISERVER, "enable-admission-plugins", "use spec.apiServer.admissionPlugins"),
        (KUBE_APISERVER, "oidc-ca-file", "use spec.apiServer.authentication.jwt"),
        (KUBE_APISERVER, "service-account-signing-endpoint", "it is not on the list"),
        (KUBE_CONTROLLER_MANAGER, "enable-hostpath-provisioner", "no argument may name a file"),
        (KUBE_CONTROLLER_MANAGER, "flex-volume-plugin-dir", "no argument may name a file"),
        (KUBE_CONTROLLER_MANAGER, "pv-recycler-pod-template-filepath-nfs", "no argument may name a file"),
        (KUBE_CONTROLLER_MANAGER, "cluster-cidr", "use spec.network.serviceCIDRs and spec.network.podCIDRs"),
        (KUBE_SCHEDULER, "write-config-to", "no argument may name a file"),
        (KUBE_SCHEDULER, "config", "no argument may name a file"),
        (KINE, "endpoint", "spec.dataStoreRef decides where the data is"),
    ],
)
def test_arguments_that_reach_beyond_the_program_are_refused(program: str, flag: str, reason: str) -> None:
    (problem,) = refused(program, [(flag, "x")])
    assert (problem.part, reason in problem.reason) == ("name", True)


@pytest.mark.parametrize(
    "name",
    [
        "--event-ttl",
        "-event-ttl",
        "event_ttl",
        "Event-TTL",
        "EVENT-TTL",
        " event-ttl",
        "event-ttl ",
        "event-ttl\n",
        "event-ttl=1h",
        "event-ttl=1h\n--etcd-prefix=/other",
        "ｅvent-ttl",
        "event-ttl\x00",
        "",
        "etcd-prefix=/other",
        "--etcd_prefix=/other",
    ],
)
def test_only_the_plain_name_of_a_flag_is_accepted(name: str) -> None:
    (problem,) = refused(KUBE_APISERVER, [(name, "1h")])
    assert problem.part == "name"
    assert not re.search(r"[\x00-\x1f]", problem.reason)


def test_the_right_spelling_is_named() -> None:
    (problem,) = refused(KUBE_APISERVER, [("--event_ttl=1h", "")])
    assert problem.reason.endswith("without dashes in front, with its value in the field value: event-ttl")


def test_an_argument_is_given_once() -> None:
    assert problems(KUBE_APISERVER, ("v", "2"), ("event-ttl", "2h"), ("v", "6")) == [(2, "name")]


@pytest.mark.parametrize(
    ("program", "name", "value"),
    [
        (KUBE_APISERVER, "event-ttl", "2h"),
        (KUBE_APISERVER, "event-ttl", "1h30m0s"),
        (KUBE_APISERVER, "feature-gates", "ImageVolume=true,InPlacePodVerticalScaling=false"),
        (KUBE_APISERVER, "runtime-config", "api/beta=true,batch/v2alpha1=true,v1=true,apps/v1/deployments=false"),
        (KUBE_APISERVER, "service-node-port-range", "30000-32767"),
        (KUBE_APISERVER, "tls-cipher-suites", "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        (KUBE_APISERVER, "watch-cache-sizes", "pods#500,deployments.apps#100"),
        (KUBE_APISERVER, "goaway-chance", "0.001"),
        (KUBE_CONTROLLER_MANAGER, "controllers", "*,-ttl-controller"),
        (KUBE_CONTROLLER_MANAGER, "node-cidr-mask-size", "27"),
        (KUBE_CONTROLLER_MANAGER, "node-monitor-grace-period", "40s"),
        (KUBE_SCHEDULER, "v", "4"),
        (KINE, "datastore-max-open-connections", "20"),
    ],
)
def test_what_users_want_is_accepted(program: str, name: str, value: str) -> None:
    assert problems(program, (name, value)) == []


@pytest.mark.parametrize(
    ("program", "name", "value"),
    [
        (KUBE_APISERVER, "v", "7"),
        (KUBE_APISERVER, "event-ttl", "73h"),
        (KUBE_APISERVER, "event-ttl", "0"),
        (KUBE_APISERVER, "event-ttl", "1h1h1h1h1h1h1h"),
        (KUBE_APISERVER, "max-requests-inflight", "0"),
        (KUBE_APISERVER, "max-requests-inflight", "3001"),
        (KUBE_APISERVER, "max-requests-inflight", "0100"),
        (KUBE_APISERVER, "watch-cache-sizes", "pods#10000"),
        (KUBE_APISERVER, "watch-cache-sizes", ",".join(f"r{each}#1" for each in range(65))),
        (KUBE_APISERVER, "tls-min-version", "VersionTLS11"),
        (KUBE_APISERVER, "tls-cipher-suites", "TLS_RSA_WITH_RC4_128_SHA"),
        (KUBE_APISERVER, "service-node-port-range", "32767-30000"),
        (KUBE_APISERVER, "service-node-port-range", "0-65535"),
        (KUBE_APISERVER, "service-node-port-range", "30000-65536"),
        (KUBE_APISERVER, "feature-gates", "ImageVolume=true,AllAlpha=true"),
        (KUBE_APISERVER, "feature-gates", "CoordinatedLeaderElection=true"),
        (KUBE_APISERVER, "feature-gates", "StructuredAuthenticationConfiguration=false"),
        (KUBE_CONTROLLER_MANAGER, "concurrent-gc-syncs", "101"),
        (KUBE_CONTROLLER_MANAGER, "cloud-provider", "aws"),
        (KINE, "datastore-max-open-connections", "0"),
        (KINE, "datastore-max-open-connections", "100"),
    ],
)
def test_values_beyond_bounds_are_refused(program: str, name: str, value: str) -> None:
    assert problems(program, (name, value)) == [(0, "value")]


def test_gates_and_plugins_that_read_files_or_lift_restrictions_are_left_out() -> None:
    assert not FEATURE_GATES & {
        "AllAlpha",
        "AllBeta",
        "APIServerTracing",
        "AuthorizeNodeWithSelectors",
        "CoordinatedLeaderElection",
        "ExternalServiceAccountTokenSigner",
        "KMSv1",
        "ManifestBasedAdmissionControlConfig",
        "UnauthenticatedHTTP2DOSMitigation",
        "UnknownVersionInteroperabilityProxy",
    }
    assert not ADMISSION_PLUGINS & {"AlwaysAdmit", "AlwaysDeny", "EventRateLimit", "ImagePolicyWebhook"}


@given(st.text(max_size=40))
def test_values_are_what_go_takes_for_the_same_number(text: str) -> None:
    if integer(0, 999).accepts(text):
        assert text == str(int(text))
    if duration("0s", "1h").accepts(text):
        assert re.fullmatch(r"0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+", text, re.ASCII)


def test_the_documentation_lists_what_is_accepted() -> None:
    page = (Path(__file__).parents[4] / "docs/hosted-control-planes.md").read_text()
    tables = page.partition("### Arguments that are accepted")[2].partition("\n## ")[0].split("#### ")[1:]
    listed = {}
    for table in tables:
        rows = re.findall(r"^\| (`.*`) \| (.*) \|$", table, re.MULTILINE)
        listed[table.split()[0]] = {name: text for names, text in rows for name in re.findall(r"`(.*?)`", names)}
    assert listed == {
        program: {name: values.description for name, values in allowed.items()} for program, allowed in ALLOWED.items()
    }
