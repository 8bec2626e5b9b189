"""The EncryptionConfiguration of a user, read strictly and written again.

Its text comes from a Secret of a tenant and becomes a file of the API server. Only keys that stand in it are accepted:
a `kms` provider would let the tenant choose a socket that the API server connects to. Whether the keys are good is for
kube-apiserver to decide.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
import yaml

from nagaya.wire import bounded_yaml

LARGEST: Final = 32 << 10
"""Bytes. The text is read at every look at a control plane; a hundred keys have a quarter of it."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """No field is accepted that is not known here."""


_Text = Annotated[str, msgspec.Meta(max_length=1024)]


class _Key(_Strict):
    name: _Text
    secret: _Text


class _Keys(_Strict):
    keys: list[_Key]


class _Nothing(_Strict):
    pass


class _Provider(_Strict):
    aescbc: _Keys | None = None
    aesgcm: _Keys | None = None
    secretbox: _Keys | None = None
    identity: _Nothing | None = None


class _Resource(_Strict):
    resources: list[_Text]
    providers: list[_Provider]


class _Configuration(_Strict):
    kind: str
    apiVersion: str
    resources: list[_Resource]


def reencoded(text: bytes) -> bytes:
    """The configuration and nothing else of the text. Raises ValueError, without content, if it is not accepted."""
    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 10} KiB")
    try:
        content = msgspec.convert(bounded_yaml.load(text), _Configuration)
    except yaml.YAMLError:
        raise ValueError("it is not YAML") from None
    except (msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        raise ValueError(
            "it is not an EncryptionConfiguration of resources, each with the providers aescbc, aesgcm, secretbox or "
            "identity. A kms provider is not accepted: it would connect to a socket of the machine"
        ) from None
    if (content.kind, content.apiVersion) != ("EncryptionConfiguration", "apiserver.config.k8s.io/v1"):
        raise ValueError("its kind is not EncryptionConfiguration of apiserver.config.k8s.io/v1")
    return msgspec.json.encode(content)  # which is YAML, too, and has one meaning for all readers
