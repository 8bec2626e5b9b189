from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from nagaya.addons.resource_set.contents import content_of
from nagaya.api.addons.cluster_resource_set import SECRET_TYPE
from nagaya.api.conversion.manifests import ManifestError
from nagaya.api.untyped import Untyped

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def resource(kind: str, **content: Any) -> Untyped:
    metadata = {"namespace": "default", "name": "it"}
    return Untyped({"apiVersion": "v1", "kind": kind, "metadata": metadata, **content})


def test_the_hash_is_of_all_texts_in_the_order_of_their_names() -> None:
    content = content_of(resource("ConfigMap", data={"b": "two", "a": "one"}))
    assert content.hash == f"sha256:{hashlib.sha256(b'onetwo').hexdigest()}"


def test_a_secret_and_a_config_map_with_the_same_texts_have_the_same_hash() -> None:
    encoded = base64.b64encode(POD.encode()).decode()
    secret = content_of(resource("Secret", type=SECRET_TYPE, data={"a": encoded}))
    config_map = content_of(resource("ConfigMap", data={"a": POD}))
    assert secret.hash == config_map.hash
    assert [each.kind for each in secret.objects] == ["Pod"]


def test_what_is_in_a_secret_is_never_shown() -> None:
    encoded = base64.b64encode(b"hunter2").decode()
    content = content_of(resource("Secret", type=SECRET_TYPE, data={"a": encoded}))
    assert content.texts == (("a", b"hunter2"),)
    assert "hunter2" not in repr(content)


def test_objects_are_parsed_once() -> None:
    content = content_of(resource("ConfigMap", data={"a": POD}))
    assert content.objects is content.objects


def test_a_secret_of_another_type_is_not_read() -> None:
    content = content_of(resource("Secret", type="Opaque", data={"a": "x"}))
    assert content.wrong_type
    assert content.texts == ()


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (resource("ConfigMap"), "ConfigMap default/it has no data"),
        (resource("Secret", type=SECRET_TYPE, data={"a": "?"}), "is not base64"),
    ],
)
def test_what_has_no_usable_data_says_so(obj: Untyped, why: str) -> None:
    content = content_of(obj)
    assert why in content.problem
    with pytest.raises(ManifestError, match=why):
        _ = content.objects
