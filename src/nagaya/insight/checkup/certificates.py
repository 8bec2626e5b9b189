"""Certificates of tenants that end soon: of machines, of hosted control planes, of kubeconfigs and authorities."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.clusters.certificates import kubeconfig
from nagaya.clusters.certificates.held import CLUSTER_SECRETS, ClusterSecret
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.tenant_secrets import VALUE
from nagaya.pki import certificates as pki
from nagaya.pki.secret_data import CERTIFICATE

CHECK: Final = "certificates"
SOON: Final = timedelta(days=30)
VERY_SOON: Final = timedelta(days=7)
_PURPOSES: Final = (
    Purpose.CLUSTER_AUTHORITY,
    Purpose.FRONT_PROXY_AUTHORITY,
    Purpose.ETCD_AUTHORITY,
    Purpose.KUBECONFIG,
)
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Expiry:
    """When something ends."""

    what: str
    ends: datetime
    remedy: str = ""
    starts: datetime | None = None


async def secrets_of(client: Client, namespace: str, cluster: str) -> tuple[list[Expiry], list[str]]:
    """When the certificates in Secrets of a cluster end, and what could not be read. Raises NoAnswer."""
    found, unread = [], []
    for purpose in _PURPOSES:
        name = secret_name(cluster, purpose)
        try:
            secret = await client.get(CLUSTER_SECRETS, namespace, name)
        except NotFound:
            continue
        except ApiError as error:
            unread.append(str(error))
            continue
        try:
            starts, ends = _validity(secret, purpose)
            found.append(Expiry(f"Secret {name}", ends, _renewal(namespace, cluster, purpose), starts))
        except ValueError as error:
            unread.append(f"Secret {namespace}/{name}: {error}")
    return found, unread


def _validity(secret: ClusterSecret, purpose: Purpose) -> tuple[datetime, datetime]:
    key = VALUE if purpose is Purpose.KUBECONFIG else CERTIFICATE
    try:
        content = base64.b64decode(secret.data.get(key, ""), validate=True)
    except binascii.Error:
        raise ValueError(f"{key} is not Base64") from None
    found = [kubeconfig.read(content).certificate] if purpose is Purpose.KUBECONFIG else pki.load(content)
    return max(each.not_valid_before_utc for each in found), min(each.not_valid_after_utc for each in found)


def _renewal(namespace: str, cluster: str, purpose: Purpose) -> str:
    if purpose is Purpose.KUBECONFIG:
        authority = secret_name(cluster, Purpose.CLUSTER_AUTHORITY)
        delete = f"kubectl delete -n {namespace} secret {secret_name(cluster, purpose)}"
        return f"{delete}   # only if {authority} has its key: it is made anew with that at once"
    return "The authority itself ends: make a new cluster, and move the workload there, before it does."


def of_members(members: Iterable[Member]) -> Iterator[Expiry]:
    """What objects say of certificates."""
    for each in members:
        if each.kind == "Machine" and (text := each.text("status", "certificatesExpiryDate")):
            owner = next((one for one in each.metadata.owner_references if one.kind == "KubeadmControlPlane"), None)
            yield from _dated(f"Machine {each.name}", text, _rollout(each.namespace, owner.name) if owner else "")
        if each.kind == "HostedControlPlane":
            listed = each.object.at("status", "certificates")
            for one in listed if isinstance(listed, list) else ():
                if isinstance(one, Mapping):
                    yield from _dated(f"{one.get('name')} of {each.title}", one.get("notAfter"), _CONTROLLERS)


_CONTROLLERS: Final = "The controllers renew it by themselves: see to it that they run (`nagaya controllers`)."


def _rollout(namespace: str, name: str) -> str:
    return (
        f"kubectl patch -n {namespace} kubeadmcontrolplane {name} --type merge -p "
        '\'{"spec":{"rollout":{"after":"\'$(date -u +%Y-%m-%dT%H:%M:%SZ)\'"}}}\''
    )


def _dated(what: str, told: Any, remedy: str) -> Iterator[Expiry]:
    try:
        yield Expiry(what, msgspec.convert(told, datetime), remedy)
    except msgspec.ValidationError:
        return


def check(subject: Subject, expiries: Iterable[Expiry], unread: Iterable[str], now: datetime) -> Finding | None:
    """Which end soon. None if there is none to be looked at."""
    every, refused = sorted(expiries, key=lambda each: each.ends), list(unread)
    if not every:
        return subject.unchecked(CHECK, refused[0]) if refused else None
    if early := next((each for each in every if each.starts is not None and each.starts > now), None):
        told = f"{early.what} is not valid before {early.starts:%Y-%m-%d}: a clock that was ahead made it, or this one"
        return subject.problem(CHECK, f"{told} is behind.", "timedatectl   # on the machine of the management API")
    soon = [each for each in every if each.ends - now < SOON]
    if not soon:
        rest = f" Not read: {refused[0]}" if refused else ""
        return subject.ok(CHECK, f"The first ends on {every[0].ends:%Y-%m-%d} ({every[0].what}).{rest}")
    named = ", ".join(
        f"{each.what} {'ended' if each.ends <= now else 'ends'} on {each.ends:%Y-%m-%d}" for each in soon[:_NAMED]
    )
    more = f" and {len(soon) - _NAMED} more" if len(soon) > _NAMED else ""
    remedy = dict.fromkeys(each.remedy for each in soon if each.remedy)
    make = subject.problem if soon[0].ends - now < VERY_SOON else subject.warning
    return make(CHECK, f"{named}{more}.", *remedy)
