from __future__ import annotations

import pytest

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.components.arguments import merged


def argument(name: str, value: str = "true") -> Argument:
    return Argument(name=name, value=value)


def test_the_users_argument_replaces_a_default() -> None:
    assert merged(KUBE_APISERVER, {}, {"profiling": "false"}, [argument("profiling")]) == ("--profiling=true",)


@pytest.mark.parametrize(
    "name", ["etcd-prefix", "--etcd-prefix", "etcd_prefix", "etcd-prefix=/other", "etcd-prefix=/b\n", "ETCD-PREFIX"]
)
def test_a_fixed_argument_is_never_replaced(name: str) -> None:
    assert merged(KUBE_APISERVER, {"etcd-prefix": "/a"}, {}, [argument(name, "/b")]) == ("--etcd-prefix=/a",)


def test_arguments_that_admission_refuses_are_left_out_where_admission_is_absent() -> None:
    given = [
        argument("audit-webhook-config-file", "/tenant/pki/ca.crt"),
        argument("event-ttl=1h --write-config-to", "/etc/passwd"),
        argument("event-ttl", "1h\n--debug-socket-path=/x"),
        argument("v", "10"),
        argument("max-requests-inflight", "500"),
        argument("max-requests-inflight", "600"),
    ]
    assert merged(KUBE_APISERVER, {}, {"v": "2"}, given) == ("--max-requests-inflight=500", "--v=2")


def test_an_argument_that_users_may_give_cannot_be_fixed() -> None:
    with pytest.raises(AssertionError, match="event-ttl"):
        merged(KUBE_APISERVER, {"event-ttl": "1h"}, {}, [])
