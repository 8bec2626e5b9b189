from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from nagaya.controlplane.hosted.components.encryption_config import reencoded

KEY = base64.b64encode(b"k" * 32).decode()


def configuration(*providers: Any, **more: Any) -> bytes:
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets", "configmaps"], "providers": [*providers]}],
        **more,
    }
    return yaml.safe_dump(content).encode()


def keys(secret: str = KEY) -> dict[str, Any]:
    return {"keys": [{"name": "one", "secret": secret}]}


@pytest.mark.parametrize("name", ["aescbc", "aesgcm", "secretbox"])
def test_keys_are_kept(name: str) -> None:
    text = configuration({name: keys()}, {"identity": {}})
    assert yaml.safe_load(reencoded(text)) == yaml.safe_load(text)


def test_the_same_configuration_has_the_same_bytes_however_it_is_written() -> None:
    text = configuration({"secretbox": keys()})
    assert reencoded(b"# a comment\n---\n" + text) == reencoded(text) == reencoded(reencoded(text))


def test_no_reader_takes_a_text_for_a_number() -> None:
    given = {"keys": [{"name": "0o17", "secret": "1_000"}]}
    assert b'"0o17"' in reencoded(configuration({"aescbc": given}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (configuration({"kms": {"name": "x", "endpoint": "unix:///run/x.sock"}}), "A kms provider is not accepted"),
        (configuration({"identity": {}, "kms": {"name": "x"}}), "A kms provider is not accepted"),
        (configuration({"secretbox": keys("x" * 1025)}), "is not an EncryptionConfiguration"),
        (configuration({"identity": {}}, users=[{"user": {"exec": {"command": "sh"}}}]), "is not an EncryptionConfig"),
        (configuration({"identity": {}}, kind="Config"), "its kind is not EncryptionConfiguration"),
        (b"apiVersion: v1\nkind: Config\n---\n" + configuration({"identity": {}}), "it is not YAML"),
        (b"[" * 30_000, "it is not YAML"),
        (b"\xff\xfe", "it is not"),
        (b"x" * (32 << 10) + b"x", "it has more than 32 KiB"),
    ],
    ids=range(9),
)
def test_everything_else_is_refused_without_its_content(text: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refusal:
        reencoded(text)
    assert "/" not in str(refusal.value).replace("apiserver.config.k8s.io/v1", "")
