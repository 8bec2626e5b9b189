from __future__ import annotations

from typing import Any

import msgspec

from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.kind import Kind

POOL = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "p"}


def written(kind: Kind[Any], obj: Any) -> Any:
    """An object as it is sent."""
    return msgspec.json.decode(msgspec.json.encode(kind.content(obj)))


def test_an_address_with_a_prefix_of_zero_keeps_it() -> None:
    spec = {"address": "10.0.0.1", "prefix": 0, "claimRef": {"name": "c"}, "poolRef": POOL}
    assert written(IP_ADDRESSES, IP_ADDRESSES.convert({"metadata": {}, "spec": spec}))["spec"] == spec


def test_a_claim_has_no_address_at_first() -> None:
    claim = IP_ADDRESS_CLAIMS.convert({"metadata": {}, "spec": {"poolRef": POOL}})
    assert claim.status.address_ref is None
    assert claim.spec.pool_ref.kind == "InClusterIPPool"
