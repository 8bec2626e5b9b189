"""Secrets: ConfigMaps for what must stay secret, with a type that says what has to be inside.

A client may write values as plain text in `stringData`; they move into `data` while the object is read, so nothing
behind the decoder ever sees that member. Messages never show a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.config_map import SIZE_LIMIT, decoded_size, frozen_changes
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy, immutable
from nagaya.apiserver.meta import base64text, jsontext, names
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required, too_long
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

OPAQUE: Final = "Opaque"
TLS: Final = "kubernetes.io/tls"
ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_DATA: Final = Path("data")

Data = Mapping[str, str | None]


class SecretStrategy(CoreStrategy):
    """Secret."""

    selectable_fields = frozenset({"type"})
    field_labels: Mapping[str, str] = {each: each for each in ("metadata.name", "metadata.namespace", "type")}

    def default(self, obj: JsonObject) -> None:
        """Plain texts become data, and a secret without a type is opaque."""
        if texts := obj.pop("stringData", None):
            encoded = {key: base64text.encode(text.encode("utf-8", "surrogatepass")) for key, text in texts.items()}
            obj["data"] = {**(obj.get("data") or {}), **encoded}
        if not obj.get("type"):
            obj["type"] = OPAQUE

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """The type stays; a frozen secret stays as it is."""
        return immutable("type", new.get("type") or "", old.get("type") or "") + frozen_changes(new, old, ("data",))

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Keys are file names, all values together have a limit, and the type has demands."""
        data: Data = obj.get("data") or {}
        errors = [invalid(_DATA.key(key), key, problem) for key in data for problem in names.config_key(key)]
        if sum(map(decoded_size, data.values())) > SIZE_LIMIT:
            errors.append(too_long(_DATA, SIZE_LIMIT))
        demands = _DEMANDS.get(obj.get("type") or "")
        return errors + demands(data, obj["metadata"]) if demands else errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """A key that does not belong to its certificate."""
        return _warnings(obj)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return _warnings(new)

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The type."""
        return {"type": obj.get("type") or ""}


def _account_token(data: Data, metadata: JsonObject) -> list[FieldError]:
    annotations = metadata.get("annotations") or {}
    return [] if annotations.get(ACCOUNT_NAME) else [required(Path("metadata.annotations").key(ACCOUNT_NAME))]


def _docker_config(member: str) -> Callable[[Data, JsonObject], list[FieldError]]:
    def check(data: Data, metadata: JsonObject) -> list[FieldError]:
        if member not in data:
            return [required(_DATA.key(member))]
        problem = _object_problem(data[member])
        return [invalid(_DATA.key(member), "<secret contents redacted>", problem)] if problem else []

    return check


def _basic_auth(data: Data, metadata: JsonObject) -> list[FieldError]:
    members = ("username", "password")
    return [] if any(each in data for each in members) else [required(_DATA.key(each)) for each in members]


def _ssh_auth(data: Data, metadata: JsonObject) -> list[FieldError]:
    return [] if data.get("ssh-privatekey") else [required(_DATA.key("ssh-privatekey"))]


def _tls(data: Data, metadata: JsonObject) -> list[FieldError]:
    return [required(_DATA.key(each)) for each in ("tls.crt", "tls.key") if each not in data]


_DEMANDS: Final[Mapping[str, Callable[[Data, JsonObject], list[FieldError]]]] = {
    "kubernetes.io/service-account-token": _account_token,
    "kubernetes.io/dockercfg": _docker_config(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _docker_config(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _basic_auth,
    "kubernetes.io/ssh-auth": _ssh_auth,
    TLS: _tls,
}

_WORDS: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


def _object_problem(encoded: str | None) -> str:
    """Why a value is no JSON object, in Go's words."""
    from binascii import a2b_base64

    try:
        value, _ = jsontext.parse(a2b_base64(encoded or ""))
    except DecodeError as error:
        return str(error)
    word = _WORDS.get(value.__class__)
    return f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}" if word else ""


def _warnings(secret: JsonObject) -> list[str]:
    if secret.get("type") != TLS:
        return []
    from nagaya.apiserver.builtins.kinds.secret_key_pair import problem

    data: Data = secret.get("data") or {}
    found = problem(data.get("tls.crt") or "", data.get("tls.key") or "")
    return [found] if found else []
