from __future__ import annotations

import pytest

from nagaya.controlplane.kubeadm.workload.corefile import KNOWN, migrated

COREFILE = """.:53 {
    errors
    # what follows is ours
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        endpoint https://a:6443 https://b:6443  # both
        fallthrough in-addr.arpa ip6.arpa
    }
    foreign {
        endpoint one two
    }
    forward . /etc/resolv.conf
}
"""


def test_the_same_version_changes_nothing() -> None:
    assert migrated(COREFILE, (1, 99, 0), (1, 99, 0)) == COREFILE


def test_only_further_endpoints_of_the_kubernetes_plugin_go() -> None:
    after = migrated(COREFILE, (1, 8, 6), (1, 12, 4))
    assert after == COREFILE.replace(
        "endpoint https://a:6443 https://b:6443  # both", "endpoint https://a:6443  # both"
    )


def test_a_corefile_without_them_stays_as_it_is() -> None:
    usual = COREFILE.replace("        endpoint https://a:6443 https://b:6443  # both\n", "")
    for after in KNOWN - {(1, 8, 3)}:
        assert migrated(usual, (1, 8, 3), after) == usual


def test_what_is_older_is_refused() -> None:
    with pytest.raises(ValueError, match=r"CoreDNS 1\.11\.3 is older than 1\.12\.0, which runs"):
        migrated(COREFILE, (1, 12, 0), (1, 11, 3))


@pytest.mark.parametrize(("before", "after"), [((1, 6, 7), (1, 12, 0)), ((1, 12, 0), (2, 0, 0))])
def test_what_is_not_known_is_refused_with_the_remedy(
    before: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    with pytest.raises(ValueError, match="skip-coredns"):
        migrated(COREFILE, before, after)
