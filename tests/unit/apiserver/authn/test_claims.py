from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.authn import claims
from nagaya.apiserver.authn.claims import Reference

ACCOUNT = {"metadata": {"namespace": "ns", "name": "sa", "uid": "u"}}
NOW = datetime(2026, 1, 1, tzinfo=UTC)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def test_bound_claims_read_back() -> None:
    pod = {"metadata": {"name": "p", "uid": "pu"}}
    made = claims.bound("iss", "id", ACCOUNT, ("a", "b"), NOW, timedelta(hours=1), pod=pod, node=Reference("n", ""))
    assert made["kubernetes.io"] == {
        "namespace": "ns",
        "serviceaccount": {"name": "sa", "uid": "u"},
        "pod": {"name": "p", "uid": "pu"},
        "node": {"name": "n"},
    }
    read = claims.read(made)
    assert (read.issuer, read.subject, read.audiences) == ("iss", "system:serviceaccount:ns:sa", ("a", "b"))
    assert (read.issued, read.not_before, read.expires) == (1767225600, 1767225600, 1767229200)
    assert (read.service_account, read.pod, read.node) == (("sa", "u"), ("p", "pu"), ("n", ""))
    assert read.secret is None


def test_legacy_claims_read_back() -> None:
    made = claims.legacy(ACCOUNT, {"metadata": {"name": "sec"}})
    read = claims.read(made)
    assert read.issuer == claims.LEGACY_ISSUER
    assert (read.namespace, read.service_account, read.secret) == ("ns", ("sa", "u"), ("sec", ""))
    assert (read.expires, read.audiences) == (None, ())


def test_one_audience_may_stand_alone() -> None:
    assert claims.read({"aud": "x"}).audiences == ("x",)


@given(st.dictionaries(st.sampled_from(["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "kubernetes.io"]), JSON))
def test_members_of_the_wrong_type_count_as_missing(body: dict[str, object]) -> None:
    read = claims.read(body)
    assert isinstance(read.issuer, str)
    assert all(isinstance(audience, str) for audience in read.audiences)
    assert read.expires is None or isinstance(read.expires, float)
