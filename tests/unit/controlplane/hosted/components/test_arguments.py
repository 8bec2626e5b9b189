from __future__ import annotations

import pytest

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.components.arguments import merged, values


def argument(name: str, value: str = "x") -> Argument:
    return Argument(name=name, value=value)


def test_the_users_argument_replaces_a_default() -> None:
    assert merged(KUBE_APISERVER, {}, {"profiling": "false"}, [argument("profiling", "true")]) == ("--profiling=true",)


@pytest.mark.parametrize("name", ["etcd-prefix", "--etcd-prefix", "etcd_prefix"])
def test_it_never_replaces_a_fixed_one(name: str) -> None:
    assert merged(KUBE_APISERVER, {"etcd-prefix": "/a"}, {}, [argument(name, "/b")]) == ("--etcd-prefix=/a",)


def test_what_is_not_the_users_is_left_out_even_where_nothing_is_fixed() -> None:
    assert merged(KUBE_APISERVER, {}, {}, [argument("token-auth-file"), argument("event-ttl")]) == ("--event-ttl=x",)


def test_an_argument_can_be_given_twice_and_keeps_its_order() -> None:
    issuers = [argument("service-account-issuer", "https://z"), argument("service-account-issuer", "https://a")]
    found = merged(KUBE_APISERVER, {}, {"service-account-issuer": "https://default"}, issuers)

    assert [*values(found, "service-account-issuer")] == ["https://z", "https://a"]


def test_fixed_arguments_are_in_the_table_that_admission_reads() -> None:
    with pytest.raises(AssertionError, match="event-ttl"):
        merged(KUBE_APISERVER, {"event-ttl": "1h"}, {}, [])
