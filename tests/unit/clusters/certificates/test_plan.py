from __future__ import annotations

from nagaya.api.cluster.secrets import Purpose
from nagaya.clusters.certificates.held import ClusterSecret
from nagaya.clusters.certificates.plan import Plan, Verdict, plan
from nagaya.clusters.certificates.wanted import Etcd, Wanted
from support.certificates import CONTROL_PLANE, PAIR, secret, seen

CA, SA, PROXY, ETCD = (
    Purpose.CLUSTER_AUTHORITY,
    Purpose.SERVICE_ACCOUNTS,
    Purpose.FRONT_PROXY_AUTHORITY,
    Purpose.ETCD_AUTHORITY,
)
ALL = (CA, SA, PROXY, ETCD)
EXTERNAL = Wanted(Etcd.PROVIDED)


def planned(
    *secrets: ClusterSecret, initialized: bool = False, maker: bool = True, wanted: Wanted | None = None
) -> Plan:
    found = seen(*secrets, wanted=wanted)
    return plan(found, initialized=initialized, maker=CONTROL_PLANE if maker else None)


def test_of_a_new_cluster_everything_is_made() -> None:
    found = planned()
    assert (found.verdict, found.make) == (Verdict.MAKE, ALL)
    assert found.sentence == (
        "Making Secrets fleet/harbour-ca, fleet/harbour-sa, fleet/harbour-proxy, fleet/harbour-etcd"
    )


def test_only_what_is_missing_is_made() -> None:
    found = planned(secret(CA), secret(ETCD, type="Opaque"))
    assert (found.verdict, found.make) == (Verdict.MAKE, (SA, PROXY))


def test_nothing_is_made_for_a_control_plane_that_runs() -> None:
    found = planned(secret(CA), secret(PROXY), initialized=True)
    assert (found.verdict, found.make) == (Verdict.LOST, ())
    assert found.message == (
        "Cluster certificates for sa, etcd are not available, please check cluster certificate secrets"
    )
    assert found.sentence == (
        f"{found.message}. Restore Secrets fleet/harbour-sa, fleet/harbour-etcd from a backup or from a control plane "
        f"machine. Nothing new is made, because that would cut off every machine and user of the cluster."
    )
    one = planned(*(secret(each) for each in (CA, SA, PROXY)), initialized=True)
    assert one.message == "Cluster certificate for etcd is not available, please check cluster certificate secrets"


def test_whoever_makes_nothing_waits() -> None:
    found = planned(secret(CA), maker=False)
    assert (found.verdict, found.make) == (Verdict.WAIT, ())
    assert found.sentence.startswith("Waiting for Secrets fleet/harbour-sa, ")


def test_certificates_of_an_external_etcd_have_to_be_provided() -> None:
    found = planned(secret(CA), wanted=EXTERNAL)
    assert (found.verdict, found.make) == (Verdict.WAIT, ())
    assert found.message == (
        "External certificate not found: Secrets fleet/harbour-apiserver-etcd-client, fleet/harbour-etcd"
    )
    etcd = secret(ETCD, {"tls.crt": PAIR.certificate}, type="Opaque")
    client = secret(Purpose.API_SERVER_ETCD_CLIENT, type="Opaque")
    assert planned(secret(CA), etcd, client, wanted=EXTERNAL).make == (SA, PROXY)


def test_a_data_store_that_brings_its_own_certificates_needs_none_for_etcd() -> None:
    assert planned(wanted=Wanted(Etcd.NONE)).make == (CA, SA, PROXY)


def test_what_cannot_be_used_is_refused_before_anything_is_made() -> None:
    found = planned(secret(CA, {}), secret(PROXY, {"tls.crt": b"x"}))
    assert (found.verdict, found.make, found.adopt) == (Verdict.REFUSED, (), ())
    assert "Secret fleet/harbour-ca: it has no tls.crt" in found.sentence
    assert "Secret fleet/harbour-proxy: tls.crt: no certificate found" in found.sentence


def test_what_others_have_made_is_adopted_and_what_users_provide_is_not() -> None:
    found = planned(secret(CA), secret(SA, None, CONTROL_PLANE), secret(PROXY, type="Opaque"), secret(ETCD))
    assert found.verdict is Verdict.AVAILABLE
    assert [(each.secret.purpose, each.owners) for each in found.adopt] == [
        (CA, (CONTROL_PLANE,)),
        (ETCD, (CONTROL_PLANE,)),
    ]
    again = planned(*(secret(each, None, CONTROL_PLANE) for each in ALL))
    assert again == Plan(Verdict.AVAILABLE)


def test_a_configuration_adopts_nothing() -> None:
    found = seen(*(secret(each) for each in (CA, SA, PROXY)))
    assert plan(found, initialized=False, maker=CONTROL_PLANE, control_plane=False).adopt == ()
