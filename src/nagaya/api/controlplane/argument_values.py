"""Values that an argument of a hosted control plane's program may have.

A value from a tenant reaches the command line of a program on the machine of Nagaya. None of the checks accepts a path,
a socket, a URL or an address, so no argument can make a program open a file or a connection that the tenant chose.
Numbers and durations have bounds: they decide how much memory, time and disk a program takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

LONGEST: Final = 1024
"""Characters of a value, which is what the schema accepts."""
_MOST_ITEMS: Final = 64
_WHOLE: Final = "(?:0|[1-9][0-9]{0,8})"
"""Without leading zeros, which Go takes for the octal system."""
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(h|ms|m|us|ns|s)", re.ASCII)
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def split_names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


CIPHER_SUITES: Final = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
)
"""TLS 1.2 or newer, with forward secrecy and authentication."""

FEATURE_GATES: Final = split_names(
    """
    AllowOverwriteTerminationGracePeriodSeconds AnyVolumeDataSource CSIServiceAccountTokenSecrets
    CSIVolumeHealth ChangeContainerStatusOnKubeletRestart ClearingNominatedNodeNameAfterBinding
    ClusterTrustBundle ClusterTrustBundleProjection ConstrainedImpersonation ContainerCheckpoint
    ContainerRestartRules ContainerStopSignals CrossNamespaceVolumeDataSource DRAAdminAccess
    DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaintRules DRADeviceTaints DRAExtendedResource
    DRAListTypeAttributes DRANodeAllocatableResources DRAPartitionableDevices DRAPrioritizedList
    DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DRAResourcePoolStatus
    DRASchedulerFilterTimeout DRAWorkloadResourceClaims DeploymentReplicaSetTerminatingReplicas
    DynamicResourceAllocation EnvFiles GangScheduling GenericWorkload GracefulNodeShutdown
    GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HPAScaleToZero HonorPVReclaimPolicy
    HostnameOverride ImageVolume ImageVolumeWithDigest InPlacePodLevelResourcesVerticalScaling
    InPlacePodVerticalScaling InPlacePodVerticalScalingAllocatedStatus InPlacePodVerticalScalingExclusiveCPUs
    InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingInitContainers JobBackoffLimitPerIndex
    JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCrashLoopBackOffMax
    KubeletEnsureSecretPulledImages LogarithmicScaleDown MatchLabelKeysInPodAffinity
    MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet
    MultiCIDRServiceAllocator MutableCSINodeAllocatableCount MutablePVNodeAffinity
    MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy
    NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeSwap NominatedNodeNameForExpectation
    OpenAPIEnums OpportunisticBatching OrderedNamespaceDeletion PersistentVolumeClaimUnusedSinceTime
    PodCertificateRequest PodDeletionCost PodLevelResourceManagers PodLevelResources PodLifecycleSleepAction
    PodLifecycleSleepActionAllowZero PodLogsQuerySplitStreams PodObservedGenerationTracking
    PodReadyToStartContainersCondition PodSchedulingReadiness PodTopologyLabelsAdmission PodsAPI
    PortForwardWebsockets PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
    RecursiveReadOnlyMounts ReduceDefaultCrashLoopBackOffDecay RelaxedDNSSearchValidation
    RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits RetryGenerateName
    RotateKubeletServerCertificate SELinuxChangePolicy SELinuxMount SELinuxMountReadWriteOncePod
    SchedulerAsyncAPICalls SchedulerAsyncPreemption SchedulerPopFromBackoffQ SchedulerQueueingHints
    SeparateTaintEvictionController ServiceTrafficDistribution SidecarContainers
    StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
    StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageCapacityScoring
    StorageVersionHash StorageVersionMigrator StreamingCollectionEncodingToJSON
    StreamingCollectionEncodingToProtobuf SupplementalGroupsPolicy TaintTolerationComparisonOperators
    TopologyAwareHints TopologyAwareWorkloadScheduling UserNamespacesHostNetworkSupport UserNamespacesSupport
    VolumeAttributesClass VolumeLimitScaling WatchList WindowsGracefulNodeShutdown WindowsHostNetwork
    WorkloadAwarePreemption WorkloadWithJob
    """
)
"""Features of the API, the controllers and the scheduler. Left out: gates that let a program read further files or
connect elsewhere, gates that Nagaya's own settings depend on, gates that restrict nodes, and AllAlpha and AllBeta."""

ADMISSION_PLUGINS: Final = split_names(
    """
    AlwaysPullImages CertificateApproval CertificateSigning CertificateSubjectRestriction ClusterTrustBundleAttest
    DefaultIngressClass DefaultStorageClass DefaultTolerationSeconds DenyServiceExternalIPs ExtendedResourceToleration
    JobValidation LimitPodHardAntiAffinityTopology LimitRanger MutatingAdmissionPolicy MutatingAdmissionWebhook
    NamespaceAutoProvision NamespaceExists NamespaceLifecycle NodeDeclaredFeatureValidator NodeRestriction
    OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize PodGroupProtection PodGroupWorkloadExists
    PodNodeSelector PodResizeValidator PodSecurity PodTolerationRestriction PodTopologyLabels Priority ResourceQuota
    RuntimeClass ServiceAccount StorageObjectInUseProtection TaintNodesByCondition ValidatingAdmissionPolicy
    ValidatingAdmissionWebhook
    """
)
"""Left out: ImagePolicyWebhook and EventRateLimit, which read a file, and plugins that admit or deny everything."""


@dataclass(frozen=True, slots=True)
class Values:
    """Which values an argument may have."""

    description: str
    """Completes the sentence "must be ..."."""
    accepts: Callable[[str], bool] = field(repr=False)


def one_of(*names: str) -> Values:
    """One of a few words."""
    return Values(" or ".join(names), frozenset(names).__contains__)


def integer(low: int, high: int) -> Values:
    """A whole number."""
    fits = re.compile(_WHOLE, re.ASCII).fullmatch
    return Values(f"a whole number from {low} to {high}", lambda text: bool(fits(text)) and low <= int(text) <= high)


def number(low: float, high: float) -> Values:
    """A number with or without a fraction."""
    fits = re.compile(rf"{_WHOLE}(\.[0-9]{{1,9}})?", re.ASCII).fullmatch
    return Values(f"a number from {low:g} to {high:g}", lambda text: bool(fits(text)) and low <= float(text) <= high)


def duration(low: str, high: str) -> Values:
    """A duration as Go writes it."""
    least, most = _seconds(low), _seconds(high)
    return Values(f"a duration from {low} to {high}", lambda text: least <= _seconds(text) <= most)


def list_of(description: str, pattern: str, names: Collection[str] | None = None) -> Values:
    """Items with commas between them. The first group of the pattern is the name, if only some names are accepted."""
    fits = re.compile(pattern, re.ASCII).fullmatch

    def accepts(text: str) -> bool:
        found = [fits(each) for each in text.split(",")]
        return len(found) <= _MOST_ITEMS and all(
            each is not None and (names is None or each[1] in names) for each in found
        )

    return Values(f"a list of {description}, separated by commas", accepts)


def port_range(low: int, high: int) -> Values:
    """Two port numbers with a dash between them."""
    fits = re.compile(r"([0-9]{1,5})-([0-9]{1,5})", re.ASCII).fullmatch

    def accepts(text: str) -> bool:
        found = fits(text)
        return found is not None and low <= int(found[1]) <= int(found[2]) <= high

    return Values(f"a range within {low}-{high}, such as 30000-32767", accepts)


BOOL: Final = one_of("true", "false")
GATES: Final = list_of(
    "feature gates of the API and its controllers, such as ImageVolume=true",
    r"([A-Za-z0-9]+)=(?:true|false)",
    FEATURE_GATES,
)
SUITES: Final = list_of("cipher suites with forward secrecy", r"([A-Z0-9_]+)", CIPHER_SUITES)


def _seconds(text: str) -> float:
    """The length of a duration; less than any if the text is none."""
    if text == "0":
        return 0.0
    parts = _DURATION.findall(text)
    if not parts or "".join(f"{amount}{unit}" for amount, unit in parts) != text or len(parts) > len(_SECONDS):
        return -1.0
    return sum(float(amount) * _SECONDS[unit] for amount, unit in parts)
