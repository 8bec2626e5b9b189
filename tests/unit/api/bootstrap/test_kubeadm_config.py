from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.bootstrap.kubeadm_config import DEFINITION, KUBEADM_CONFIGS
from nagaya.api.bootstrap.kubeadm_config_template import DEFINITION as TEMPLATE_DEFINITION
from nagaya.api.bootstrap.kubeadm_config_template import KUBEADM_CONFIG_TEMPLATES
from nagaya.api.crd import render, schema
from nagaya.api.kind import Kind
from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd import schema as structural
from nagaya.apiserver.crd.validate import Validator

FULL: dict[str, Any] = {
    "clusterConfiguration": {
        "apiServer": {"certSANs": ["a.example.com"], "extraArgs": [{"name": "v", "value": "2"}]},
        "etcd": {"external": {"endpoints": ["https://e"], "caFile": "a", "certFile": "b", "keyFile": "c"}},
        "caCertificateValidityPeriodDays": 100,
    },
    "initConfiguration": {
        "localAPIEndpoint": {"bindPort": 443},
        "timeouts": {"etcdAPICallSeconds": 1, "kubernetesAPICallSeconds": 2, "tlsBootstrapSeconds": 3},
    },
    "joinConfiguration": {
        "caCertPath": "/ca",
        "discovery": {
            "bootstrapToken": {"apiServerEndpoint": "h:1", "unsafeSkipCAVerification": True},
            "file": {
                "kubeConfigPath": "/k",
                "kubeConfig": {
                    "cluster": {"insecureSkipTLSVerify": True, "proxyURL": "http://p", "tlsServerName": "t"},
                    "user": {"exec": {"command": "c", "provideClusterInfo": False}},
                },
            },
        },
    },
    "diskSetup": {"filesystems": [{"device": "/dev/sdb", "filesystem": "ext4", "replaceFS": "ntfs"}]},
    "mounts": [["LABEL=data", "/data"]],
}


def written(kind: Kind[Any], obj: Any) -> Any:
    """An object as it is sent."""
    return msgspec.json.decode(msgspec.json.encode(kind.content(obj)))


def problems(spec: dict[str, Any]) -> list[str]:
    validator = Validator(structural.read(schema(DEFINITION)), compile_rules)
    return [str(error) for error in validator.validate({"metadata": {}, "spec": spec})]


def test_fields_have_the_names_of_the_api() -> None:
    config = KUBEADM_CONFIGS.convert({"metadata": {"name": "c"}, "spec": FULL})
    assert written(KUBEADM_CONFIGS, config)["spec"] == FULL
    assert problems(FULL) == []


def test_no_taints_are_told_apart_from_taints_left_out() -> None:
    registrations: tuple[dict[str, Any], ...] = ({"taints": []}, {"name": "n"})
    for registration in registrations:
        spec = {"joinConfiguration": {"nodeRegistration": registration}}
        config = KUBEADM_CONFIGS.convert({"metadata": {}, "spec": spec})
        assert config.spec.join_configuration.node_registration.taints == (() if "taints" in registration else None)
        assert written(KUBEADM_CONFIGS, config)["spec"] == spec


def test_an_empty_control_plane_makes_one() -> None:
    config = KUBEADM_CONFIGS.convert({"metadata": {}, "spec": {"joinConfiguration": {"controlPlane": {}}}})
    assert config.spec.join_configuration.control_plane is not None
    assert written(KUBEADM_CONFIGS, config)["spec"] == {"joinConfiguration": {"controlPlane": {}}}


def test_settings_that_were_left_out_can_be_read_all_the_way() -> None:
    config = KUBEADM_CONFIGS.convert({"metadata": {}})
    assert config.spec.cluster_configuration.etcd.local.image_tag == ""
    assert config.status.initialization.data_secret_created is None
    assert set(written(KUBEADM_CONFIGS, config)) == {"apiVersion", "kind", "metadata"}


def test_a_template_without_content_is_one() -> None:
    template = KUBEADM_CONFIG_TEMPLATES.convert({"metadata": {}})
    assert template.spec.template.spec.files == ()


def test_an_argument_is_given_once() -> None:
    twice = {"scheduler": {"extraArgs": [{"name": "v", "value": "1"}, {"name": "v", "value": "2"}]}}
    (found,) = problems({"clusterConfiguration": twice})
    assert "an argument may be given once only" in found


@pytest.mark.parametrize(
    ("partition", "fine"),
    [
        ({"layout": True}, True),
        ({"diskLayout": [{"percentage": 50, "partitionType": "LVM"}]}, True),
        ({"diskLayout": [{"percentage": 50, "partitionType": "0FC63DAF-8483-4772-8E79-3D69D8477DE4"}]}, True),
        ({"diskLayout": [{"percentage": 50, "partitionType": "Other"}]}, False),
        ({}, False),
        ({"layout": True, "diskLayout": [{"percentage": 50}]}, False),
    ],
)
def test_a_disk_is_divided_in_one_way(partition: dict[str, Any], fine: bool) -> None:
    found = problems({"diskSetup": {"partitions": [{"device": "/dev/sdb", **partition}]}})
    assert (found == []) is fine


@pytest.mark.parametrize("definition", [DEFINITION, TEMPLATE_DEFINITION])
def test_the_crd_says_which_contract_it_fulfils(definition: Any) -> None:
    labels = render(definition)["metadata"]["labels"]
    assert labels["cluster.x-k8s.io/v1beta2"] == "v1beta2"
    assert labels["cluster.x-k8s.io/provider"] == "bootstrap-kubeadm"
