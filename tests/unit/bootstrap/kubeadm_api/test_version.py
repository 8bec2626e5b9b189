from __future__ import annotations

import pytest

from nagaya.bootstrap.kubeadm_api import KubeadmVersion, version_for
from nagaya.bootstrap.refusal import Refused


@pytest.mark.parametrize(
    ("kubernetes", "expected"),
    [
        ("v1.22.0", KubeadmVersion.V1BETA3),
        ("1.30.14", KubeadmVersion.V1BETA3),
        ("v1.31.0", KubeadmVersion.V1BETA4),
        ("v1.31.0-alpha.1", KubeadmVersion.V1BETA4),
        ("v1.22.0-rc.0", KubeadmVersion.V1BETA3),
        ("v1.36.3+build.7", KubeadmVersion.V1BETA4),
        ("v2.0.0", KubeadmVersion.V1BETA4),
    ],
)
def test_the_version_of_the_machine_decides(kubernetes: str, expected: KubeadmVersion) -> None:
    assert version_for(kubernetes) is expected


def test_what_is_too_old_is_refused_with_the_oldest_that_is_not() -> None:
    with pytest.raises(
        Refused, match=r"spec\.version: .*v1\.21\.14 .*before v1beta3\. Use Kubernetes v1\.22\.0 or newer\."
    ):
        version_for("v1.21.14")


@pytest.mark.parametrize("text", ["", "latest", "v1.x"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="is no Kubernetes version"):
        version_for(text)
