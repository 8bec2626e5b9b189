"""An authority goes into a Secret and comes out again."""

import base64

import pytest

from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.secret_data import data_of, read_authority
from nagaya.world import SystemClock


def stored() -> dict[str, str]:
    authority = CertificateAuthority.create("kubernetes", SystemClock())
    return {name: base64.b64encode(value).decode() for name, value in data_of(authority).items()}


def test_what_was_stored_is_read() -> None:
    data = stored()
    assert base64.b64encode(read_authority(data).certificate_pem).decode() == data["tls.crt"]


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
def test_what_is_missing_or_broken_is_named_without_its_content(name: str) -> None:
    with pytest.raises(ValueError, match=f"it has no {name}"):
        read_authority({**stored(), name: ""})
    with pytest.raises(ValueError, match=f"{name} is not Base64") as caught:
        read_authority({**stored(), name: "s3cret!"})
    assert "s3cret" not in str(caught.value)
