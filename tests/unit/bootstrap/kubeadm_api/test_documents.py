"""What recorded answers of the original do not say: facts of infrastructure, taints, and values at the edge."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.bootstrap.component import Argument
from nagaya.api.bootstrap.node_registration import NodeRegistration, Taint
from nagaya.bootstrap.kubeadm_api.document import days, duration, moment
from nagaya.bootstrap.kubeadm_api.node_registration import node_registration
from nagaya.bootstrap.kubeadm_api.version import KubeadmVersion
from nagaya.bootstrap.preparation import NO_FACTS, KubeletFacts

NEW, OLD = KubeadmVersion.V1BETA4, KubeadmVersion.V1BETA3
FACTS = KubeletFacts(node_ip="10.0.0.5,fd00::5", provider_id="proxmox://abc", cloud_provider_external=True)
UNINITIALIZED = Taint(key="u", effect="NoSchedule")


def test_the_kubelet_is_told_what_infrastructure_asks_for() -> None:
    assert node_registration(NEW, NodeRegistration(), FACTS)["kubeletExtraArgs"] == [
        {"name": "node-ip", "value": "10.0.0.5,fd00::5"},
        {"name": "provider-id", "value": "proxmox://abc"},
        {"name": "cloud-provider", "value": "external"},
    ]
    assert node_registration(OLD, NodeRegistration(), FACTS)["kubeletExtraArgs"] == {
        "node-ip": "10.0.0.5,fd00::5",
        "provider-id": "proxmox://abc",
        "cloud-provider": "external",
    }


@pytest.mark.parametrize("name", ["node-ip", "provider-id", "cloud-provider"])
def test_what_the_user_said_himself_wins(name: str) -> None:
    asked = NodeRegistration(kubelet_extra_args=(Argument(name=name, value="mine"),))
    arguments = node_registration(NEW, asked, FACTS)["kubeletExtraArgs"]
    assert [each["value"] for each in arguments if each["name"] == name] == ["mine"]
    assert len(arguments) == 3


def test_nothing_asked_for_adds_no_argument() -> None:
    assert node_registration(NEW, NodeRegistration(), NO_FACTS) == {"taints": None}


@pytest.mark.parametrize(
    ("taints", "more", "expected"),
    [
        (None, (), None),
        ((), (), []),
        (None, (UNINITIALIZED,), [{"key": "u", "effect": "NoSchedule"}]),
        ((), (UNINITIALIZED,), [{"key": "u", "effect": "NoSchedule"}]),
        ((UNINITIALIZED,), (UNINITIALIZED,), [{"key": "u", "effect": "NoSchedule"}]),
        (
            (Taint(key="u", effect="NoExecute"),),
            (UNINITIALIZED,),
            [{"key": "u", "effect": "NoExecute"}, {"key": "u", "effect": "NoSchedule"}],
        ),
    ],
)
def test_no_taints_and_an_empty_list_of_taints_are_different(taints: Any, more: Any, expected: Any) -> None:
    assert node_registration(NEW, NodeRegistration(taints=taints), NO_FACTS, more)["taints"] == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0, "0s"), (59, "59s"), (60, "1m0s"), (3600, "1h0m0s"), (7325, "2h2m5s"), (360000, "100h0m0s")],
)
def test_durations_are_written_as_go_does(seconds: int | None, text: str) -> None:
    assert duration(seconds) == text


@given(st.integers(min_value=0, max_value=2**31 - 1))
def test_durations_add_up(seconds: int) -> None:
    units = {"h": 3600, "m": 60, "s": 1}
    total, number = 0, ""
    for character in duration(seconds):
        if character.isdigit():
            number += character
        else:
            total, number = total + int(number) * units[character], ""
    assert total == seconds


def test_days_become_hours() -> None:
    assert (days(0), days(365)) == ("", "8760h0m0s")


def test_moments_are_told_in_universal_time() -> None:
    assert moment(datetime(2026, 1, 2, 3, 4, 5, 600, timezone(timedelta(hours=2)))) == "2026-01-02T01:04:05Z"
