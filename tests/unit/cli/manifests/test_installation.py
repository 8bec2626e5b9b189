"""What runs the controllers on a Kubernetes cluster, and with which rights."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nagaya.api.catalog import PARTS as DEFINITIONS
from nagaya.api.crd import render
from nagaya.cli.controllers import PARTS, controllers
from nagaya.cli.manifests.command import DEFAULT, manifests
from nagaya.cli.manifests.installation import Installation
from nagaya.cli.manifests.rights import WRITTEN, cluster_rules, lease_rules


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


def verbs(resource: str) -> list[str]:
    (found,) = [rule["verbs"] for rule in cluster_rules(PARTS) if resource in rule["resources"]]
    return list(found)


def test_nobody_may_make_or_delete_what_only_users_do() -> None:
    assert verbs("clusters") == ["get", "list", "watch", "patch"]
    assert verbs("proxmoxconnections") == ["get", "list", "watch", "patch"]
    assert verbs("clusterclasses") == ["get", "list", "watch"]
    assert verbs("inclusterippools") == ["get", "list", "watch", "create", "patch"]
    assert "delete" not in verbs("services")


def test_machine_pools_of_others_go_with_their_cluster() -> None:
    assert verbs("machinepools") == ["get", "list", "watch", "delete"]


def test_every_kind_of_the_table_exists_and_no_status_is_written_that_is_not_served() -> None:
    defined = {each.kind.plural: each for definitions in DEFINITIONS.values() for each in definitions}
    assert set(WRITTEN) <= set(defined)
    named = {name for rule in cluster_rules(PARTS) for name in rule["resources"]}
    assert not [name for name, each in defined.items() if f"{name}/status" in named and not each.status]


def test_rules_of_other_providers_are_left_to_kubernetes() -> None:
    """Who applies them is at odds with whoever fills them in, from the second time on."""
    parts = Installation("nagaya-system", "nagaya:1", DEFAULT, crds=False).manifests()
    (aggregated,) = [each for each in parts if "aggregationRule" in each]
    assert "rules" not in aggregated


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


@pytest.mark.parametrize("address", ["10.1.2.3", "fd00:1::3"])
def test_the_command_line_of_the_pods_is_understood_in_clusters_of_either_family(address: str) -> None:
    arguments = made()["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    given = [each.replace("$(POD_IP)", address) for each in arguments]
    context = controllers.make_context("controllers", given)
    assert context.params["admission"] == (address, 9443)
    assert context.params["health"] == (address, 9440), "where kubelet asks"
    assert context.params["only"] == DEFAULT


def test_definitions_are_those_of_crds_and_can_be_left_out() -> None:
    printed = CliRunner().invoke(manifests, ["--only", "ipam", "--namespace", "n", "--image", "i:1"]).output
    found = [each for each in yaml.load_all(printed, yaml.CSafeLoader) if each["kind"] == "CustomResourceDefinition"]
    assert found == [render(each) for part in ("core", "ipam") for each in DEFINITIONS[part]]
    assert "CustomResourceDefinition" not in made()


def test_a_service_monitor_is_there_if_it_is_asked_for() -> None:
    assert "ServiceMonitor" not in made()
    monitor = made(service_monitor=True)["ServiceMonitor"]
    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True, "or the namespaces of clusters become that of the pod"
