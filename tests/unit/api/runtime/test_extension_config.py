from __future__ import annotations

from typing import Any

import msgspec

from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.runtime.extension_config import DEFINITION, EXTENSION_CONFIGS


def written(kind: Kind[Any], obj: Any) -> Any:
    """An object as it is sent."""
    return msgspec.json.decode(msgspec.json.encode(kind.content(obj)))


def test_it_belongs_to_no_namespace() -> None:
    assert render(DEFINITION)["spec"]["scope"] == "Cluster"
    assert EXTENSION_CONFIGS.path(name="x") == "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/x"


def test_no_selector_is_told_apart_from_one_for_everything() -> None:
    for spec in (
        {"clientConfig": {"url": "https://a"}},
        {"clientConfig": {"url": "https://a"}, "namespaceSelector": {}},
    ):
        found = EXTENSION_CONFIGS.convert({"metadata": {}, "spec": spec})
        assert (found.spec.namespace_selector is None) is ("namespaceSelector" not in spec)
        assert written(EXTENSION_CONFIGS, found)["spec"] == spec
