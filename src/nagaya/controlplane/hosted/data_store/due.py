"""When a tenant's place in a store is made sure of again: one rule, whether tenants are processes or pods.

Before its certificate runs out, at the moment at which every certificate is renewed; and once a day in any case, to
give back what somebody took away there. A place that is as it shall be is not changed by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import CERTIFICATE, EtcdTenantStore, TenantStore
from nagaya.pki import certificates
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.renewal import renewal_time

AGAIN: Final = timedelta(days=1)


def due(place: TenantStore, tenant: Tenant, now: datetime) -> datetime:
    """When to provision again what was provisioned now."""
    ends = _renewal(place, tenant)
    return now + AGAIN if ends is None else min(max(ends, now), now + AGAIN)


def renewed(kept: Mapping[str, bytes], place: TenantStore) -> str:
    """The sentence that the certificate that was kept was replaced; empty if it was not, or there was none."""
    before, after = kept.get(CERTIFICATE), place.kept.get(CERTIFICATE)
    if before is None or before == after:
        return ""
    try:
        end = certificates.load(before)[0].not_valid_after_utc
    except ValueError:
        return "The certificate for the data store could not be read."
    return f"The certificate for the data store is good until {end:%Y-%m-%d at %H:%M} UTC only."


def _renewal(place: TenantStore, tenant: Tenant) -> datetime | None:
    """When its certificate is to be renewed; passwords are not."""
    if not isinstance(place, EtcdTenantStore):
        return None
    certificate, authority = (certificates.load(each)[0] for each in (place.client.certificate, place.authority))
    return renewal_time(certificate, authority, CertificateSpec(tenant.user))
