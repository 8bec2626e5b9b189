from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.bootstrap.kubeadm_config_spec import KubeadmConfigSpec
from nagaya.controlplane.kubeadm.kubeadm_config_diff import outdated_fields
from nagaya.controlplane.kubeadm.verdict import next_verdict, verdict
from support.builders import INFRASTRUCTURE, NOW, date, provider
from support.subtest_cases import subtest_cases
from unit.controlplane.kubeadm.examples import KcpDraft, config, host, kcp, pilot


def saying(**spec: Any) -> KcpDraft:
    return kcp().wanting(kubeadmConfigSpec=spec)


def stored(name: str, *, join: bool = True, **spec: Any) -> KubeadmConfig:
    """A KubeadmConfig with some content."""
    content = msgspec.convert(spec, KubeadmConfigSpec)
    return msgspec.structs.replace(config(name, join=join), spec=content)


JOIN: dict[str, Any] = {"controlPlane": {}}


def test_a_machine_that_was_just_made_is_up_to_date() -> None:
    of = kcp().made()
    assert verdict(of, pilot("a").it, config("a"), host("a").object, NOW).up_to_date
    assert verdict(of, pilot("a").it, config("a", join=False), host("a").object, NOW).up_to_date


def test_another_version_is_told_in_the_words_that_rolling_out_looks_for() -> None:
    found = verdict(kcp().made(), pilot("a", version="v1.35.0").it, config("a"), host("a").object, NOW)
    assert found.messages == ("Version v1.35.0, v1.36.3 required",)
    assert found.details == ('Machine version "v1.35.0" is not equal to KCP version "v1.36.3"',)


def test_another_template_rolls_but_an_unknown_one_does_not() -> None:
    found = verdict(kcp().made(), pilot("a").it, config("a"), host("a", "raft").object, NOW)
    assert found.messages == ("BoatMachine is not up-to-date",)
    assert "rotated from BoatMachineTemplate.infrastructure.cluster.x-k8s.io raft to" in found.details[0]
    assert verdict(kcp().made(), pilot("a").it, config("a"), provider(INFRASTRUCTURE, "a").made(), NOW).up_to_date


def test_objects_that_are_not_there_are_not_held_against_a_machine() -> None:
    assert verdict(kcp().made(), pilot("a").it, None, None, NOW).up_to_date


def test_machines_made_before_a_date_roll_once_it_has_come() -> None:
    of = kcp().wanting(rollout={"after": date(NOW - timedelta(minutes=1))}).made()
    found = verdict(of, pilot("a").it, config("a"), host("a").object, NOW)
    assert found.messages == ("KubeadmControlPlane spec.rolloutAfter expired",)
    assert verdict(of, pilot("a").created(timedelta()).it, config("a"), host("a").object, NOW).up_to_date
    later = kcp().wanting(rollout={"after": date(NOW + timedelta(minutes=1))}).made()
    assert verdict(later, pilot("a").it, config("a"), host("a").object, NOW).up_to_date
    assert next_verdict(later, pilot("a").it, NOW) == NOW + timedelta(minutes=1)


def test_machines_roll_before_their_certificates_end() -> None:
    of = kcp().wanting(rollout={"before": {"certificatesExpiryDays": 10}}).made()
    soon = pilot("a").having(status={"certificatesExpiryDate": date(NOW + timedelta(days=9))}).it
    assert verdict(of, soon, config("a"), host("a").object, NOW).messages == ("Certificates will expire soon",)
    late = pilot("a").having(status={"certificatesExpiryDate": date(NOW + timedelta(days=11))}).it
    assert verdict(of, late, config("a"), host("a").object, NOW).up_to_date
    assert next_verdict(of, late, NOW) == NOW + timedelta(days=1)
    assert next_verdict(kcp().made(), late, NOW) is None


def test_a_changed_configuration_rolls_and_names_the_field_without_its_value() -> None:
    of = saying(users=[{"name": "joe", "passwd": "secret"}])
    found = verdict(of.made(), pilot("a").it, config("a"), host("a").object, NOW)
    assert found.messages == ("KubeadmConfig is not up-to-date",)
    assert found.details == ("Machine KubeadmConfig is outdated: spec.users",)


@subtest_cases(
    ("declared", "present"),
    [
        pytest.param({}, {"format": "cloud-config"}, id="the format spelt out"),
        pytest.param(
            {}, {"joinConfiguration": {"nodeRegistration": {"imagePullPolicy": "IfNotPresent"}}}, id="the pull policy"
        ),
        pytest.param(
            {}, {"clusterConfiguration": {"controlPlaneEndpoint": "10.0.0.9:6443"}}, id="the endpoint filled in"
        ),
        pytest.param(
            {"clusterConfiguration": {"dns": {"imageTag": "v2"}}},
            {"clusterConfiguration": {"dns": {"imageTag": "v1"}}},
            id="DNS, which is changed in place",
        ),
        pytest.param(
            {},
            {"joinConfiguration": {"discovery": {"bootstrapToken": {"token": "a.b", "apiServerEndpoint": "x"}}}},
            id="discovery",
        ),
        pytest.param(
            {"joinConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 9}}},
            {},
            id="a time limit of the join",
        ),
        pytest.param({"files": []}, {}, id="a list without anything"),
        pytest.param({"clusterConfiguration": {"featureGates": {}}}, {}, id="a map without anything"),
    ],
)
def test_some_differences_mean_nothing(declared: dict[str, Any], present: dict[str, Any]) -> None:
    joining = {**JOIN, **present.pop("joinConfiguration", {})}
    assert outdated_fields(saying(**declared).made(), stored("a", joinConfiguration=joining, **present)) == ()


@pytest.mark.parametrize(
    ("declared", "fields"),
    [
        (
            {"joinConfiguration": {"nodeRegistration": {"taints": []}}},
            ("spec.joinConfiguration.nodeRegistration.taints",),
        ),
        ({"clusterConfiguration": {"imageRepository": "here"}}, ("spec.clusterConfiguration.imageRepository",)),
        ({"preKubeadmCommands": ["true"], "verbosity": 5}, ("spec.preKubeadmCommands", "spec.verbosity")),
        ({"format": "ignition"}, ("spec.format",)),
    ],
)
def test_other_differences_count(declared: dict[str, Any], fields: tuple[str, ...]) -> None:
    assert outdated_fields(saying(**declared).made(), stored("a", joinConfiguration=JOIN)) == fields


def test_the_first_machine_is_compared_as_if_it_had_joined() -> None:
    both = {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "3"}]}}
    of = saying(initConfiguration=both, joinConfiguration={**both, "caCertPath": "/ca"}).made()
    assert outdated_fields(of, stored("a", join=False, initConfiguration=both)) == ()
    changed = saying(initConfiguration={}, joinConfiguration={}).made()
    assert outdated_fields(changed, stored("a", join=False, initConfiguration=both)) == (
        "spec.initConfiguration.nodeRegistration.kubeletExtraArgs",
    )


def test_the_first_machine_does_not_roll_because_init_and_join_differ() -> None:
    init = {"nodeRegistration": {"name": "first"}}
    of = saying(initConfiguration=init, joinConfiguration={"nodeRegistration": {"name": "other"}}).made()
    assert outdated_fields(of, stored("a", join=False, initConfiguration=init)) == ()
    assert outdated_fields(of, stored("b", joinConfiguration={**JOIN, "nodeRegistration": {"name": "first"}})) == (
        "spec.joinConfiguration.nodeRegistration.name",
    )
