"""The objects as whole files, to be read, and what must hold of all of them."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.objects import before_pods, objects
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy
from support.hosted_tenancies import FULL, full, plain, tenancy

TESTDATA = Path(__file__).parent / "testdata"
TENANCIES = {"plain": plain(), "full": full()}


class Plain(yaml.SafeDumper):
    def ignore_aliases(self, _: object) -> bool:
        return True


def deployments(given: Tenancy) -> dict[str, Any]:
    return {each.name: each.content for each in objects(given) if each.kind.kind == "Deployment"}


def containers(given: Tenancy) -> Iterator[dict[str, Any]]:
    for deployment in deployments(given).values():
        spec = deployment["spec"]["template"]["spec"]
        yield from (*spec.get("initContainers", ()), *spec["containers"])


def files_hashes(given: Tenancy) -> list[str]:
    templates = (each["spec"]["template"] for each in deployments(given).values())
    return [each["metadata"]["annotations"][names.FILES_HASH] for each in templates]


@pytest.mark.parametrize("name", TENANCIES)
def test_the_objects_are_those_on_file(name: str) -> None:
    found = "---\n".join(
        yaml.dump(each.content, Dumper=Plain, sort_keys=True, width=120) for each in objects(TENANCIES[name])
    )
    path = TESTDATA / f"{name}.yaml"
    if os.environ.get("NAGAYA_UPDATE_GOLDEN"):
        path.write_text(found)
    assert found == path.read_text(), "run with NAGAYA_UPDATE_GOLDEN=1 and read the difference"


@pytest.mark.parametrize("name", TENANCIES)
def test_no_container_may_do_more_than_its_work(name: str) -> None:
    for container in containers(TENANCIES[name]):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"]["drop"] == ["ALL"]
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    for deployment in deployments(TENANCIES[name]).values():
        spec = deployment["spec"]["template"]["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert not [each for each in spec["volumes"] if "hostPath" in each]


def test_no_secret_is_outside_of_a_secret() -> None:
    for each in objects(full()):
        if each.kind.kind != "Secret":
            assert "canary-password" not in str(each.content)
        assert "canary-password" not in repr(each)
    (kine,) = [each for each in objects(full()) if each.name == "one-kine"]
    assert b"canary-password" in base64.b64decode(kine.content["data"]["KINE_ENDPOINT"])


def test_the_key_of_the_authority_is_in_one_secret_only() -> None:
    holders = [each.name for each in objects(full()) if "ca.key" in each.content.get("data", {})]
    assert holders == ["one-kube-controller-manager"]


@pytest.mark.parametrize(
    ("file", "rolled"),
    [
        ("apiserver.crt", (True, False)),
        ("scheduler.conf", (False, True)),
        ("ca.crt", (True, True)),
    ],
)
def test_a_new_certificate_rolls_those_who_have_it(file: str, rolled: tuple[bool, bool]) -> None:
    before = plain()
    after = replace(before, files={**before.files, file: b"renewed"})

    assert tuple(one != other for one, other in zip(files_hashes(before), files_hashes(after), strict=True)) == rolled


def test_another_configuration_rolls_the_api_servers() -> None:
    before, after = tenancy(), tenancy({"version": "v1.36.3", "apiServer": {"podSecurity": {"warn": "restricted"}}})

    assert files_hashes(before)[0] != files_hashes(after)[0]
    assert files_hashes(before)[1] == files_hashes(after)[1]
    assert files_hashes(full())[0] != files_hashes(replace(full(), encryption=b"other"))[0]


@pytest.mark.parametrize(("family", "anywhere"), [("10.128.0.0/16", "0.0.0.0"), ("fd00:10:128::/112", "::")])
def test_whatever_is_probed_listens_where_the_kubelet_reaches_it(family: str, anywhere: str) -> None:
    """A kubelet probes the address of the pod, where nothing answers that listens at the loopback address."""
    spec = {"version": "v1.36.3", "network": {"serviceCIDRs": [family]}, "addons": {"konnectivity": {"enabled": True}}}
    probed = {}
    for container in containers(tenancy(spec)):
        told = dict(argument.removeprefix("--").split("=", 1) for argument in container.get("args", ()))
        if any("httpGet" in part for name, part in container.items() if name.endswith("Probe")):
            probed[container["name"]] = told.get("health-bind-address") or told["bind-address"]

    assert probed == dict.fromkeys(
        ("kube-apiserver", "konnectivity-server", "kube-controller-manager", "kube-scheduler"), anywhere
    )


def test_nobody_reaches_the_controllers_and_no_api_server_the_management_api() -> None:
    policies = {each.name: each.content["spec"] for each in objects(full()) if each.kind.kind == "NetworkPolicy"}
    controllers, api = policies["one-kube-controllers"], policies["one-kube-apiserver"]

    assert "Ingress" in controllers["policyTypes"]
    assert "ingress" not in controllers
    assert [each["port"] for each in api["ingress"][0]["ports"]] == [6443, 8132]
    assert [each["ipBlock"] for each in api["egress"][0]["to"]] == [
        {"cidr": "0.0.0.0/0", "except": ["192.0.2.1/32"]},
        {"cidr": "::/0", "except": ["fd00::1/128"]},
    ]


def test_user_labels_never_replace_ours() -> None:
    spec = {**FULL, "deployment": {"podMetadata": {"labels": {names.CONTROL_PLANE: "other", "team": "a"}}}}
    for deployment in deployments(tenancy(spec)).values():
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert labels["team"] == "a"
        assert labels.items() >= deployment["spec"]["selector"]["matchLabels"].items()
        assert labels[names.CONTROL_PLANE] == "one"


def test_a_port_that_nodes_can_have_is_the_nodes_port() -> None:
    given = tenancy({"version": "v1.36.3", "deployment": {"service": {"type": "NodePort"}}})
    serving = replace(given.facts.serving, port=30443)
    given = replace(given, facts=replace(given.facts, serving=serving))
    (service,) = [each.content for each in objects(given) if each.kind.kind == "Service"]

    assert service["spec"]["ports"][0]["nodePort"] == 30443


def test_missing_files_are_named() -> None:
    given = plain()
    files = {name: data for name, data in given.files.items() if name not in ("apiserver.crt", "sa.pub")}

    with pytest.raises(ValueError, match=r"kube-apiserver of tenants/one lacks files: apiserver\.crt, sa\.pub$"):
        objects(replace(given, files=files))


def test_the_service_needs_no_certificates_and_no_address() -> None:
    given = plain()
    serving = replace(given.facts.serving, advertise_address="")
    early = before_pods(replace(given, facts=replace(given.facts, serving=serving), files={}))

    assert {each.kind.kind for each in early} == {
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    }
    assert early == objects(given)[: len(early)]


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="too old"):
        objects(tenancy({"version": "v1.20.0", "addons": {"konnectivity": {"enabled": True}}}))


def test_pods_get_neither_devices_nor_annotations_that_reach_the_node_without_admission() -> None:
    spec = {
        **FULL,
        "apiServer": {
            "resources": {"limits": {"example.com/device": "1", "cpu": "2"}, "requests": {"hugepages-2Mi": 1}}
        },
        "deployment": {"podMetadata": {"annotations": {"io.kubernetes.cri-o.Devices": "/dev/sda", "team": "a"}}},
    }
    given = tenancy(spec)
    for each in deployments(given).values():
        assert not [word for word in ("cri-o", "example.com/device", "hugepages") if word in str(each)]
    servers = deployments(given)["one-kube-apiserver"]["spec"]["template"]
    assert servers["metadata"]["annotations"]["team"] == "a"
    assert {"cpu": "2"} in [each["resources"].get("limits") for each in servers["spec"]["containers"]]


def test_nothing_that_a_tenant_declares_gives_a_pod_rights_on_its_node() -> None:
    for deployment in deployments(full()).values():
        pod = deployment["spec"]["template"]["spec"]
        assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "nodeName"} & pod.keys()
        kinds = {kind for volume in pod["volumes"] for kind in volume.keys() - {"name"}}
        assert kinds <= {"secret", "configMap", "emptyDir"}
        assert pod["automountServiceAccountToken"] is False
    for container in containers(full()):
        context = container["securityContext"]
        assert (context["privileged"], context["allowPrivilegeEscalation"]) == (False, False)
        assert context["capabilities"]["drop"] == ["ALL"]
        assert set(context["capabilities"].get("add", ())) <= {"NET_BIND_SERVICE"}
