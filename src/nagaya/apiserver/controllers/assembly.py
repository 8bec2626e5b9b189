"""Which controllers a server runs.

Some of them keep promises without which nothing works (garbage collection, namespaces, custom resources); the others
can be left out by name, for servers that thousands of tests start, or beside a real kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Collection

from nagaya.apiserver.authn.jwt import Signer
from nagaya.apiserver.controllers.account_tokens import AccountTokens
from nagaya.apiserver.controllers.bootstrap_signer import BootstrapSigner
from nagaya.apiserver.controllers.disruption_budgets import DisruptionBudgets
from nagaya.apiserver.controllers.endpoint_mirroring import EndpointMirroring
from nagaya.apiserver.controllers.endpoint_slices import EndpointSlices
from nagaya.apiserver.controllers.endpoints import EndpointsOfServices
from nagaya.apiserver.controllers.event_expiry import EventExpiry
from nagaya.apiserver.controllers.flow_schemas import FlowSchemas
from nagaya.apiserver.controllers.garbage import GarbageCollector
from nagaya.apiserver.controllers.namespace_defaults import NamespaceDefaults
from nagaya.apiserver.controllers.namespaces import NamespaceFinisher
from nagaya.apiserver.controllers.policy_status import PolicyStatus
from nagaya.apiserver.controllers.request_approver import RequestApprover
from nagaya.apiserver.controllers.request_cleaner import RequestCleaner
from nagaya.apiserver.controllers.request_signer import RequestSigner
from nagaya.apiserver.controllers.resource_quotas import ResourceQuotas
from nagaya.apiserver.controllers.role_aggregation import RoleAggregation
from nagaya.apiserver.controllers.runner import Controller
from nagaya.apiserver.controllers.server_lease import ServerLease
from nagaya.apiserver.controllers.service_ranges import ServiceRanges
from nagaya.apiserver.controllers.standing_objects import StandingObjects, standing
from nagaya.apiserver.controllers.storage_protection import (
    AttributesClassProtection,
    ClaimProtection,
    VolumeProtection,
)
from nagaya.apiserver.controllers.token_cleaner import TokenCleaner
from nagaya.apiserver.controllers.volume_binding import VolumeBinding
from nagaya.apiserver.registry.backend import Backend
from nagaya.pki.authority import CertificateAuthority

OPTIONAL = frozenset(
    each.name
    for each in (
        AccountTokens,
        AttributesClassProtection,
        BootstrapSigner,
        ClaimProtection,
        DisruptionBudgets,
        EndpointMirroring,
        EndpointSlices,
        EndpointsOfServices,
        EventExpiry,
        FlowSchemas,
        NamespaceDefaults,
        PolicyStatus,
        RequestApprover,
        RequestCleaner,
        RequestSigner,
        ResourceQuotas,
        RoleAggregation,
        ServerLease,
        ServiceRanges,
        StandingObjects,
        TokenCleaner,
        VolumeBinding,
        VolumeProtection,
    )
)


def standard(
    backend: Backend,
    authority: CertificateAuthority,
    signer: Signer,
    service_range: str,
    without: Collection[str] = (),
) -> list[Controller]:
    """All controllers but those left out. Raises ValueError for a name that none of the optional ones has."""
    if unknown := sorted(set(without) - OPTIONAL):
        known = ", ".join(sorted(OPTIONAL))
        raise ValueError(f"there is no controller {unknown[0]!r} that can be left out. These can: {known}")
    certificate = authority.certificate_pem
    made: list[Controller] = [
        GarbageCollector(backend),
        NamespaceFinisher(backend),
        NamespaceDefaults(backend, certificate.decode()),
        RoleAggregation(backend),
        StandingObjects(backend, standing(certificate.decode(), service_range)),
        EventExpiry(backend),
        AccountTokens(backend, signer, certificate),
        BootstrapSigner(backend),
        TokenCleaner(backend),
        RequestApprover(backend),
        RequestSigner(backend, authority),
        RequestCleaner(backend),
        ResourceQuotas(backend),
        EndpointsOfServices(backend),
        EndpointSlices(backend),
        EndpointMirroring(backend),
        ClaimProtection(backend),
        VolumeProtection(backend),
        AttributesClassProtection(backend),
        VolumeBinding(backend),
        DisruptionBudgets(backend),
        PolicyStatus(backend),
        FlowSchemas(backend),
        ServiceRanges(backend, service_range),
        ServerLease(backend),
    ]
    return [each for each in made if each.name not in without]
