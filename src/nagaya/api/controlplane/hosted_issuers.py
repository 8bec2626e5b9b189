"""Issuers of tokens that a tenant adds to its API server, as far as they could reach beyond the tenant.

The API server fetches keys from the URL of an issuer, in embedded mode from the machine of Nagaya. Therefore only https
URLs are accepted, and none whose host is literally this machine, its link, or a metadata service of a cloud. A name
that resolves to such an address cannot be recognised here. Everything else of an entry is data for kube-apiserver,
which refuses what it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final

from nagaya.address_policy import refusal

ENTRY_FIELDS: Final = frozenset({"issuer", "claimValidationRules", "claimMappings", "userValidationRules"})
ISSUER_FIELDS: Final = frozenset(
    {"url", "discoveryURL", "certificateAuthority", "audiences", "audienceMatchPolicy", "egressSelectorType"}
)
LARGEST_BUNDLE: Final = 64 << 10

_url = re.compile(
    r"https://(?:\[(?P<v6>[0-9a-f:.]{2,45})\]|(?P<host>[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\.?))"
    r"(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?",
    re.ASCII | re.IGNORECASE,
).fullmatch
_bundle = re.compile(
    r"\s*(?:-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]{1,16384}-----END CERTIFICATE-----\s*){1,32}", re.ASCII
).fullmatch
_LOCAL_NAMES: Final = ("localhost", "localdomain")
_METADATA_NAMES: Final = (
    "metadata.google.internal",
    "metadata.goog",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
)


def issuer_problems(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with an entry of the jwt list: the path of each field within the entry, and why."""
    yield from _unknown(entry, ENTRY_FIELDS, "")
    issuer = entry.get("issuer")
    if not isinstance(issuer, Mapping):
        yield "issuer", "must have the url of the issuer"
        return
    yield from _unknown(issuer, ISSUER_FIELDS, "issuer.")
    for name in ("url", "discoveryURL"):
        if (name == "url" or name in issuer) and (why := url_problem(issuer.get(name))):
            yield f"issuer.{name}", why
    bundle = issuer.get("certificateAuthority", "")
    if bundle and not (isinstance(bundle, str) and len(bundle) <= LARGEST_BUNDLE and _bundle(bundle)):
        yield (
            "issuer.certificateAuthority",
            f"must hold PEM blocks CERTIFICATE and nothing else, at most 32 with {LARGEST_BUNDLE >> 10} KiB",
        )


def url_problem(url: object) -> str:
    """Why an API server must not fetch keys from a URL; empty if it may."""
    found = _url(url) if isinstance(url, str) and len(url) <= 2048 else None
    if found is None:
        return "must be a URL that begins with https://, without user, query and fragment"
    if why := _host_problem((found["v6"] or found["host"]).lower().removesuffix(".")):
        return f"must not lead to {why}: the API server would ask it in the name of the machine that it runs on"
    return ""


def _host_problem(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        labels = host.split(".")
        if labels[-1] in _LOCAL_NAMES or host in _METADATA_NAMES:
            return "the machine itself or a metadata service"
        # Resolvers take 127.1 and 0x7f000001 for addresses, and a name without a dot for one of the machine's own.
        return "a name without a domain" if len(labels) < 2 or re.match(r"[0-9]", labels[-1]) else ""
    return refusal(address)


def _unknown(content: Mapping[str, Any], known: frozenset[str], path: str) -> Iterator[tuple[str, str]]:
    if unknown := content.keys() - known:
        detail = f"has {len(unknown)} fields that are not accepted. Accepted are: {', '.join(sorted(known))}"
        yield path.removesuffix(".") or "issuer", detail
