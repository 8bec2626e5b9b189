from __future__ import annotations

from nagaya.apiserver.meta.api_version import version_order


def test_stable_versions_come_first_and_newer_ones_before_older() -> None:
    versions = ["v1alpha1", "foo", "v2", "v1beta2", "v10", "v1", "v11alpha2", "v1beta10", "bar"]
    expected = ["v10", "v2", "v1", "v1beta10", "v1beta2", "v11alpha2", "v1alpha1", "bar", "foo"]
    assert sorted(versions, key=version_order) == expected
