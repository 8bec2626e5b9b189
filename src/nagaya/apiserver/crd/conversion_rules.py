"""How a definition may say that its versions are converted: by renaming only, or by calling a webhook."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

from cryptography import x509

from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    forbidden,
    invalid,
    not_supported,
    required,
)
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.webhooks import review_versions
from nagaya.apiserver.webhooks.client_config import client_config_errors

STRATEGIES: Final = ("None", "Webhook")


def check(
    conversion: JsonObject, path: Path, *, known_review_version: bool = True, readable_ca: bool = False
) -> Iterator[FieldError]:
    """What is wrong with `spec.conversion`.

    An update need not name a review version that this server speaks if the old one did not, and a CA bundle is only
    checked (`readable_ca`) once conversion has worked.
    """
    strategy = conversion.get("strategy") or ""
    if not strategy:
        yield required(path.child("strategy"))
    elif strategy not in STRATEGIES:
        yield not_supported(path.child("strategy"), strategy, STRATEGIES)
    webhook = conversion.get("webhook") or {}
    client = webhook.get("clientConfig")
    versions = webhook.get("conversionReviewVersions") or []
    # Messages use the names of an older form of the API.
    client_path, versions_path = path.child("webhookClientConfig"), path.child("conversionReviewVersions")
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden(client_path, detail)
        if versions:
            yield forbidden(versions_path, detail)
        return
    if client is None:
        yield required(client_path, "required when strategy is set to Webhook")
    else:
        yield from _check_client(client, client_path, readable_ca=readable_ca)
    yield from review_versions.review_version_errors(versions, versions_path, known=known_review_version)


def has_known_review_version(conversion: JsonObject | None) -> bool:
    """Whether a conversion names a review version that this server speaks, or none at all."""
    versions = ((conversion or {}).get("webhook") or {}).get("conversionReviewVersions") or []
    return review_versions.is_known(versions)


def _check_client(client: JsonObject, path: Path, *, readable_ca: bool) -> Iterator[FieldError]:
    yield from client_config_errors(client, path)
    bundle = client.get("caBundle")
    if bundle and readable_ca and (problem := ca_problem(bundle)):
        yield invalid(path.child("caBundle"), bundle, problem)


_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s.*?-----END \1-----", re.DOTALL)


def ca_problem(bundle: Any) -> str:
    """Why a CA bundle (base64 of PEM) holds no certificate, empty if it holds one."""
    try:
        pem = base64.b64decode(bundle, validate=True)
    except (binascii.Error, ValueError, TypeError):
        pem = b""
    blocks = [found[0] for found in _BLOCK.finditer(pem) if found[1] == b"CERTIFICATE"]
    problem = "unable to parse bytes as PEM block"
    for block in blocks:
        try:
            x509.load_pem_x509_certificate(block)
        except ValueError:
            problem = "failed to parse certificate: x509: malformed certificate"
        else:
            return ""
    return f"unable to load root certificates: {problem}"
