from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission.content import put
from nagaya.api.admission.hosted_control_plane import default, validate
from nagaya.api.admission.hosted_control_plane_template import validate as validate_template
from nagaya.api.controlplane.hosted_arguments import PLACES
from support.hosted_tenancies import FULL
from support.subtest_cases import subtest_cases

PLANE: Any = {"metadata": {"name": "one", "namespace": "ns"}, "spec": {"version": "v1.36.3"}}


def plane(value: Any, *path: str) -> Any:
    return put(PLANE, value, "spec", *path)


def problems(new: Any, old: Any = None) -> list[str]:
    return [str(error) for error in validate(new, old)]


def test_usual_control_planes_are_fine() -> None:
    for spec in (PLANE["spec"], FULL):
        assert problems({**PLANE, "spec": spec}) == []
        assert problems({**PLANE, "spec": spec}, {**PLANE, "spec": spec}) == []


def test_a_version_gets_its_v() -> None:
    assert default(plane("1.36.3", "version"), None)["spec"]["version"] == "v1.36.3"


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("v1.33.9", "is too old: this version of Nagaya runs v1.34 to v1.37"),
        ("v1.38.0", "is newer than this version of Nagaya knows, which runs v1.34 to v1.37"),
        ("v2.0.0", "is newer than this version of Nagaya knows"),
        ("v1.36", "must be a valid semantic version"),
    ],
)
def test_versions_that_cannot_be_run_are_refused(version: str, problem: str) -> None:
    assert problem in problems(plane(version, "version"))[0]


def test_a_version_that_is_no_longer_supported_stays_where_it_runs() -> None:
    old = plane("v1.33.9", "version")
    assert problems(put(old, 2, "spec", "replicas"), old) == []


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("v1.35.4", "v1.36.3", ""),
        ("v1.35.4", "v1.35.5", ""),
        ("v1.35.4", "v1.35.1", ""),
        (
            "v1.34.1",
            "v1.36.3",
            "spec.version: Forbidden: cannot upgrade from v1.34.1 to v1.36.3: Kubernetes is upgraded one minor version "
            "at a time. Go to v1.35 first",
        ),
        (
            "v1.36.3",
            "v1.35.4",
            "spec.version: Forbidden: cannot go back from v1.36.3 to v1.35.4: Kubernetes does not read what a newer "
            "minor version has stored. Restore a backup into a new control plane instead",
        ),
    ],
)
def test_versions_go_up_one_minor_at_a_time(before: str, after: str, problem: str) -> None:
    assert problems(plane(after, "version"), plane(before, "version")) == ([problem] if problem else [])


def test_an_upgrade_counts_from_what_is_still_running() -> None:
    old = {**plane("v1.36.3", "version"), "status": {"version": "v1.35.4", "versions": [{"version": "v1.36.3"}]}}
    (problem,) = problems({**old, "spec": {"version": "v1.37.1"}}, old)

    assert "cannot upgrade from v1.35.4, which is still running, to v1.37.1" in problem


@subtest_cases(
    ("network", "problem"),
    [
        ({"serviceCIDRs": ["10.96.0.0"]}, "spec.network.serviceCIDRs[0]"),
        ({"serviceCIDRs": ["10.96.0.1/16"]}, "has host bits set"),
        ({"serviceCIDRs": ["10.96.0.0/16", "10.97.0.0/16"]}, "must be one range of IPv4 and one of IPv6"),
        ({"serviceCIDRs": ["10.96.0.0/29"]}, "is too small: at least 16 addresses are needed"),
        ({"serviceCIDRs": ["10.96.0.0/12"], "podCIDRs": ["10.96.0.0/16"]}, "must not overlap with 10.96.0.0/12"),
        ({"podCIDRs": ["10.244.0.0/25"]}, "must have a length from /8 to /24"),
        ({"podCIDRs": ["fd00::/32"]}, "must have a length from /48 to /64"),
        ({"serviceCIDRs": ["10.96.0.0/16"], "dnsServiceIPs": ["10.97.0.10"]}, "must be an address from serviceCIDRs"),
        ({"serviceCIDRs": ["10.96.0.0/16"], "dnsServiceIPs": ["10.96.0.1"]}, "must not be the first address"),
        ({"dnsServiceIPs": ["dns"]}, "must be an IP address"),
        ({"address": "not_a_name"}, "must be an IP address or a DNS name"),
        ({"address": "0.0.0.0"}, "must be an address that clients can connect to"),
        ({"address": "fd00::1", "serviceCIDRs": ["10.96.0.0/16"]}, "must be of the same family as the first"),
        ({"certSANs": ["a.example", "x y"]}, "spec.network.certSANs[1]"),
        ({"dnsDomain": "Cluster.Local"}, "spec.network.dnsDomain"),
    ],
)
def test_addresses_that_no_program_would_start_with_are_refused(network: dict[str, Any], problem: str) -> None:
    found = problems(plane(network, "network"))
    assert len(found) == 1
    assert problem in found[0]


def test_the_size_of_nodes_ranges_is_the_users_to_choose() -> None:
    spec = plane({"podCIDRs": ["10.244.0.0/25"]}, "network")
    given = [{"name": "node-cidr-mask-size", "value": "27"}]
    assert problems(put(spec, given, "spec", "controllerManager", "extraArgs")) == []


@pytest.mark.parametrize("name", ["serviceCIDRs", "podCIDRs", "dnsDomain", "dnsServiceIPs"])
def test_what_nodes_were_made_with_cannot_be_changed(name: str) -> None:
    value = "a.example" if name == "dnsDomain" else ["10.99.0.10" if name == "dnsServiceIPs" else "10.99.0.0/16"]
    changed = plane(value, "network", name)

    for new, old in ((changed, PLANE), (PLANE, changed)):
        (problem,) = problems(new, old)
        assert problem.startswith(f"spec.network.{name}: Forbidden: cannot be changed")


def test_the_address_can_be_chosen_until_there_is_an_endpoint() -> None:
    chosen = plane("10.0.0.5", "network", "address")
    known = put(PLANE, {"host": "10.0.0.1", "port": 6443}, "spec", "controlPlaneEndpoint")

    assert problems(chosen, PLANE) == []
    (problem,) = problems(put(known, "10.0.0.5", "spec", "network", "address"), known)
    assert problem.startswith("spec.network.address: Forbidden: cannot be changed any more")
    assert problems(put(known, ["a.example"], "spec", "network", "certSANs"), known) == []


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_arguments_beyond_the_list_are_refused_where_they_are(place: tuple[str, ...]) -> None:
    field = ".".join(("spec", *place, "extraArgs"))
    name = "slow-sql-threshold" if place == ("kine",) else "v"
    given = [{"name": "kubeconfig", "value": "/x"}, {"name": name, "value": "/x"}]
    by_name, by_value = problems(plane(given, *place, "extraArgs"))

    assert by_name.startswith(f"{field}[0].name: Forbidden: kubeconfig is not an argument that {PLACES[place]} accepts")
    assert by_value.startswith(f'{field}[1].value: Invalid value: "/x": --{name} must be a ')


@pytest.mark.parametrize("name", ["etcd_prefix", "--etcd-prefix", "etcd-prefix=/other"])
def test_other_spellings_of_an_argument_are_refused_for_the_same_reason(name: str) -> None:
    (problem,) = problems(plane([{"name": name, "value": "/other"}], "apiServer", "extraArgs"))
    assert "etcd-prefix is not an argument that kube-apiserver accepts from users: spec.dataStoreRef decides" in problem


@pytest.mark.parametrize("name", ["--event-ttl", "event-ttl=1h", " event-ttl"])
def test_arguments_are_written_without_dashes_and_values(name: str) -> None:
    (problem,) = problems(plane([{"name": name, "value": "1h"}], "apiServer", "extraArgs"))
    assert "must be the name of a flag without dashes in front" in problem


@pytest.mark.parametrize("name", ["ImagePolicyWebhook", "EventRateLimit", "LimitRanger,ImagePolicyWebhook", "x"])
def test_plugins_that_read_files_are_refused(name: str) -> None:
    for where in ("enable", "disable"):
        (problem,) = problems(plane({where: ["AlwaysPullImages", name]}, "apiServer", "admissionPlugins"))
        field = f"spec.apiServer.admissionPlugins.{where}: Forbidden: "
        assert problem.startswith(f"{field}has 1 plugins that are not accepted: they are unknown or read a file.")


def test_an_issuer_on_the_machine_itself_is_refused_where_it_stands() -> None:
    entries = [{"issuer": {"url": f"https://{host}"}} for host in ("a.example", "127.0.0.1")]
    (problem,) = problems(plane(entries, "apiServer", "authentication", "jwt"))
    assert problem.startswith("spec.apiServer.authentication.jwt[1].issuer.url: Forbidden: must not lead to")


def test_an_audit_policy_is_nothing_else_besides() -> None:
    policy = {"kind": "Policy", "rules": [{"level": "None"}], "users": [{"user": {"exec": {}}}]}
    (problem,) = problems(plane(policy, "apiServer", "audit", "policy"))
    assert problem.startswith("spec.apiServer.audit.policy: Forbidden: has 1 fields that are not accepted")


def test_settings_that_an_older_version_accepted_stay_until_they_are_changed() -> None:
    given = [{"name": "service-account-issuer", "value": "https://a.example"}, {"name": "v", "value": "2"}]
    old = plane(given, "apiServer", "extraArgs")

    assert problems(put(old, ["x"], "metadata", "finalizers"), old) == []
    assert problems(put(old, 3, "spec", "replicas"), old) == []
    (problem,) = problems(plane([given[0], {"name": "v", "value": "10"}], "apiServer", "extraArgs"), old)
    assert problem.startswith("spec.apiServer.extraArgs[1].value: ")
    (problem,) = problems(plane([*given, {"name": "etcd-prefix", "value": "/x"}], "apiServer", "extraArgs"), old)
    assert problem.startswith("spec.apiServer.extraArgs[2].name: ")


def test_a_plugin_is_on_or_off() -> None:
    plugins = {"enable": ["AlwaysPullImages"], "disable": ["AlwaysPullImages"]}
    (problem,) = problems(plane(plugins, "apiServer", "admissionPlugins"))
    assert "must not name plugins that are in enable" in problem


def test_what_goes_to_kubernetes_unread_is_looked_at() -> None:
    deployment = {
        "podMetadata": {"labels": {"a b": "c"}},
        "service": {"loadBalancerSourceRanges": ["everywhere"], "metadata": {"annotations": {"": "x"}}},
    }
    fields = {each.partition(": ")[0] for each in problems(plane(deployment, "deployment"))}
    assert fields == {
        "spec.deployment.podMetadata.labels",
        "spec.deployment.service.metadata.annotations",
        "spec.deployment.service.loadBalancerSourceRanges[0]",
    }


def test_templates_are_checked_and_never_change() -> None:
    bad = {"network": {"podCIDRs": ["x/y"]}}
    made = {"spec": {"template": {"spec": bad}}}
    good = {"spec": {"template": {"spec": {"network": {"podCIDRs": ["10.0.0.0/16"]}}}}}

    assert [each.field for each in validate_template(made, None)] == ["spec.template.spec.network.podCIDRs[0]"]
    assert validate_template(good, good) == []
    (problem,) = validate_template(made, good)
    assert "cannot be changed (network.podCIDRs): make another template" in str(problem)


@pytest.mark.parametrize(
    "name",
    [
        "container.apparmor.security.beta.kubernetes.io/kube-apiserver",
        "io.kubernetes.cri-o.Devices",
        "k8s.v1.cni.cncf.io/networks",
        "seccomp.security.alpha.kubernetes.io/pod",
        "sidecar.istio.io/userVolume",
        "prometheus.io.evil.example/x",
        "x.prometheus.io/x",
    ],
)
def test_annotations_that_reach_the_node_are_refused(name: str) -> None:
    (problem,) = problems(plane({name: "x"}, "deployment", "podMetadata", "annotations"))
    assert problem.startswith("spec.deployment.podMetadata.annotations: Forbidden: has a key that is not accepted")


def test_annotations_of_tools_that_only_read_are_accepted() -> None:
    names = ("backup", "prometheus.io/scrape", "cluster-autoscaler.kubernetes.io/safe-to-evict")
    assert problems(plane(dict.fromkeys(names, "x"), "deployment", "podMetadata", "annotations")) == []


def test_devices_of_the_node_are_no_resources() -> None:
    for what in ("requests", "limits"):
        given = {"memory": "1Gi", "devices.kubevirt.io/kvm": "1"}
        (problem,) = problems(plane(given, "apiServer", "resources", what))
        assert problem.startswith(f"spec.apiServer.resources.{what}: Forbidden: has 1 resources that are not accepted")
