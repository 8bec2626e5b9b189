from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.hosted.kubernetes import names

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}", fullmatch=True)


def test_a_usual_name_is_kept() -> None:
    assert names.object_name("one", "kube-apiserver") == "one-kube-apiserver"
    assert names.internal_url("one", "tenants", 6443) == "https://one-kube-apiserver.tenants.svc:6443"
    assert "one-kube-apiserver.tenants.svc" in names.server_names("one", "tenants")
    assert names.selector_text("one") == "app.kubernetes.io/name=kube-apiserver,hosted.nagaya.dev/control-plane=one"


@given(NAMES)
def test_every_name_gives_names_that_services_can_have(name: str) -> None:
    for part in ("kube-apiserver", "kube-apiserver-config", "kube-controller-manager", names.CONTROLLERS):
        found = names.object_name(name, part)
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", found)
        assert len(found) <= 63


@given(NAMES, NAMES)
def test_no_two_control_planes_share_a_name(one: str, other: str) -> None:
    assert (names.short_name(one) == names.short_name(other)) is (one == other)


def test_names_that_only_look_alike_stay_apart() -> None:
    long = "a" * 60
    assert len({names.short_name(name) for name in ("a.b", "a-b", "a.b.", f"{long}x", f"{long}y", "1", "h-1")}) == 7
