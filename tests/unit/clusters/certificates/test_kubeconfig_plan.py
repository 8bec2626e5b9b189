from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.secrets import TYPE, Purpose
from nagaya.api.meta import OwnerReference
from nagaya.clusters.certificates.held import Held, held
from nagaya.clusters.certificates.kubeconfig import administrator_kubeconfig
from nagaya.clusters.certificates.kubeconfig_plan import KubeconfigPlan, KubeconfigSeen, plan_kubeconfig
from nagaya.clusters.certificates.wanted import Material
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from support.certificates import AUTHORITY, CONTROL_PLANE, HARBOUR, PAIR, secret
from support.standing_clock import StandingClock

CLOCK = StandingClock()
NOW = CLOCK.now()
ENDPOINT = Endpoint(host="10.0.0.1", port=6443)
TEXT = administrator_kubeconfig("harbour", ENDPOINT, AUTHORITY, keys.generate(), CLOCK)
CLUSTER = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name="harbour", uid="2")
CA = Purpose.CLUSTER_AUTHORITY


def authority(data: dict[str, bytes] | None = None) -> Held:
    return held(secret(CA, data), CA, Material.AUTHORITY)


def kubeconfig(text: bytes = TEXT, *owners: OwnerReference, type: str = TYPE) -> Held:
    content = {"value": text} if text else {}
    return held(secret(Purpose.KUBECONFIG, content, *owners, type=type), Purpose.KUBECONFIG, Material.KUBECONFIG)


OURS = kubeconfig(TEXT, CONTROL_PLANE)
SIGNER = authority()


def planned(
    there: Held | None,
    *,
    by: Held | None = SIGNER,
    endpoint: Endpoint = ENDPOINT,
    now: datetime = NOW,
) -> KubeconfigPlan:
    return plan_kubeconfig(KubeconfigSeen(HARBOUR, endpoint, by, there, now), CONTROL_PLANE)


def test_without_an_endpoint_nothing_happens() -> None:
    found = planned(None, endpoint=Endpoint(host="10.0.0.1"))
    assert (found.write, found.blocked) == (False, False)


def test_a_missing_kubeconfig_is_made() -> None:
    assert planned(None) == KubeconfigPlan(True, sentence="Cluster fleet/harbour has no kubeconfig.")


def test_a_kubeconfig_waits_for_its_authority() -> None:
    found = planned(None, by=None)
    assert (found.write, found.blocked) == (False, True)
    assert found.sentence.endswith("Secret fleet/harbour-ca is needed to make one.")


def test_without_the_authoritys_key_the_user_has_to_provide_it() -> None:
    found = planned(None, by=authority({"tls.crt": PAIR.certificate}))
    assert (found.write, found.blocked) == (False, True)
    assert "Secret fleet/harbour-ca has no tls.key" in found.sentence
    assert "provide Secret fleet/harbour-kubeconfig" in found.sentence


def test_nothing_is_signed_by_an_authority_that_has_expired() -> None:
    found = planned(None, now=NOW + timedelta(days=3650))
    assert (found.write, found.blocked) == (False, True)
    assert found.sentence.endswith("The authority in Secret fleet/harbour-ca expired on 2036-10-29.")


def test_what_is_as_it_shall_be_is_looked_at_again_after_half_of_its_life() -> None:
    half = NOW + timedelta(days=182, hours=12)
    assert planned(OURS) == KubeconfigPlan(look_again=half)
    assert planned(OURS, now=half - timedelta(seconds=1)).write is False
    found = planned(OURS, now=half)
    assert found.write
    assert "expires on 2027-11-01" in found.sentence


def test_another_endpoint_or_authority_needs_another_kubeconfig() -> None:
    moved = planned(OURS, endpoint=Endpoint(host="api.example", port=443))
    assert (moved.write, moved.sentence) == (True, "The control plane is at api.example:443 now.")
    other = CertificateAuthority.create("kubernetes", CLOCK)
    for bundle in (other.certificate_pem, PAIR.certificate + other.certificate_pem):
        key = other.key_pem if bundle == other.certificate_pem else PAIR.key
        found = planned(OURS, by=authority({"tls.crt": bundle, "tls.key": key}))
        assert (found.write, found.sentence) == (True, "The cluster's authority has changed.")


@pytest.mark.parametrize("text", [b"", b"hello"])
def test_an_unreadable_one_of_ours_is_made_anew(text: bytes) -> None:
    found = planned(kubeconfig(text, CONTROL_PLANE))
    assert (found.write, found.owners) == (True, None)
    assert found.sentence.startswith("Secret fleet/harbour-kubeconfig: it is not a kubeconfig")


@pytest.mark.parametrize("text", [b"", b"hello", TEXT])
def test_a_users_is_left_alone_whatever_it_says(text: bytes) -> None:
    for owners in ((), (CLUSTER,)):
        later = NOW + timedelta(days=1000)
        assert planned(kubeconfig(text, *owners, type="Opaque"), now=later) == KubeconfigPlan()


def test_one_that_another_controller_made_is_adopted() -> None:
    found = planned(kubeconfig(TEXT, CLUSTER))
    assert (found.write, found.owners) == (False, (CLUSTER, CONTROL_PLANE))


def test_a_kubeconfig_that_cannot_be_renewed_stays_and_says_why() -> None:
    keyless = authority({"tls.crt": PAIR.certificate})
    assert planned(OURS, by=keyless) == planned(OURS)
    found = planned(OURS, by=keyless, now=NOW + timedelta(days=300))
    assert (found.write, found.blocked) == (False, True)
    assert planned(OURS, by=None) == KubeconfigPlan()
