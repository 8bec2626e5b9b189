from __future__ import annotations

import pytest

from nagaya.apiserver.authn import discovery
from nagaya.apiserver.authn.jwt import Signer, VerificationKeys


def test_the_configuration_leads_to_the_keys(signer: Signer) -> None:
    document = discovery.configuration(
        "https://issuer", "https://host/openid/v1/jwks", VerificationKeys([signer.public_key])
    )
    assert document == {
        "issuer": "https://issuer",
        "jwks_uri": "https://host/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


@pytest.mark.parametrize(
    ("issuer", "address", "problem"),
    [
        ("", "https://x", "empty issuer URL"),
        ("http://x", "https://x", "issuer URL must use https scheme, got: http://x"),
        ("https://x?a=b", "https://x", "may not include a query"),
        ("https://x#a", "https://x", "may not include a fragment"),
        ("https://x", "http://x", "jwksURI requires https scheme"),
    ],
)
def test_unfit_addresses_are_refused(issuer: str, address: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        discovery.configuration(issuer, address, VerificationKeys([]))
