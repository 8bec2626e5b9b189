"""What runs the controllers on a Kubernetes cluster, and with which rights."""

from __future__ import annotations

from typing import Any

import yaml
from click.testing import CliRunner

from nagaya.api.catalog import PARTS as DEFINITIONS
from nagaya.api.crd import render
from nagaya.cli.controllers import PARTS, controllers
from nagaya.cli.manifests.command import DEFAULT, manifests
from nagaya.cli.manifests.installation import Installation
from nagaya.cli.manifests.rights import cluster_rules, lease_rules


def made(**changes: Any) -> dict[str, dict[str, Any]]:
    given = {"namespace": "nagaya-system", "image": "nagaya:1", "parts": DEFAULT, "crds": False, **changes}
    found = Installation(**given).manifests()
    return {each["kind"]: each for each in found}


def test_no_right_is_for_everything() -> None:
    for rule in (*cluster_rules(PARTS), *lease_rules()):
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])


def test_every_kind_of_a_part_can_be_read_and_those_of_other_parts_cannot() -> None:
    for part, definitions in DEFINITIONS.items():
        rules = cluster_rules([part])
        readable = {
            f"{name}.{rule['apiGroups'][0]}" for rule in rules if "list" in rule["verbs"] for name in rule["resources"]
        }
        assert {str(each.kind) for each in definitions} <= readable
    assert not any("proxmox" in name for rule in cluster_rules(["core"]) for name in rule["resources"])


def test_each_resource_has_one_rule() -> None:
    seen = [
        (rule["apiGroups"][0], name, tuple(rule.get("resourceNames", ())))
        for rule in cluster_rules(PARTS)
        for name in rule["resources"]
    ]
    assert len(set(seen)) == len(seen)


def test_pods_keep_to_the_restricted_level_and_replicas_apart() -> None:
    pod = made()["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["affinity"]["podAntiAffinity"]
    assert made()["Deployment"]["spec"]["replicas"] == 2
    assert made()["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_command_line_of_the_pods_is_understood() -> None:
    arguments = made()["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    given = [each.replace("$(POD_IP)", "10.1.2.3") for each in arguments]
    context = controllers.make_context("controllers", given)
    assert context.params["admission"] == ("10.1.2.3", 9443)
    assert context.params["only"] == DEFAULT


def test_definitions_are_those_of_crds_and_can_be_left_out() -> None:
    printed = CliRunner().invoke(manifests, ["--only", "ipam", "--namespace", "n", "--image", "i:1"]).output
    found = [each for each in yaml.safe_load_all(printed) if each["kind"] == "CustomResourceDefinition"]
    assert found == [render(each) for part in ("core", "ipam") for each in DEFINITIONS[part]]
    assert "CustomResourceDefinition" not in made()


def test_a_service_monitor_is_there_if_it_is_asked_for() -> None:
    assert "ServiceMonitor" not in made()
    assert made(service_monitor=True)["ServiceMonitor"]["apiVersion"] == "monitoring.coreos.com/v1"
