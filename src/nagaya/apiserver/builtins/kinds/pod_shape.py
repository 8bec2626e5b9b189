"""Pod specs as Go shows its internal type, for the messages that say what changed.

The table has a line for each struct, which goes on where it is indented: its name, then its fields as `core_goshape`
writes them, with the name of a struct in place of its fields.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import Shape, difference, shape
from nagaya.apiserver.meta.status import JsonObject

# In the internal type these belong to the security context.
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def spec_difference(old: JsonObject, new: JsonObject) -> str:
    """What changed between two pod specs."""
    return difference(internal_shape("PodSpec"), _internal(old), _internal(new))


def internal_spec(spec: JsonObject) -> JsonObject:
    """A pod spec with Go's names, as messages show it."""
    return internal_shape("PodSpec").of(_internal(spec))


def ephemeral_difference(old: JsonObject, new: JsonObject) -> str:
    """What changed between two ephemeral containers."""
    return difference(internal_shape("EphemeralContainer"), old, new)


def _internal(spec: JsonObject) -> JsonObject:
    host = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **host}}


@cache
def internal_shape(name: str) -> Shape:
    """The shape of a struct in the table."""
    lines = _TABLE.replace("\n  ", " ").strip().splitlines()
    structs = dict(line.split(" ", 1) for line in lines)

    def expanded(struct: str) -> str:
        return re.sub(r"([\[{])(\w+)(?=[\]}])", lambda found: f"{found[1]}{expanded(found[2])}", structs[struct])

    return shape(expanded(name))


_TABLE: Final = """
PodSpec Volumes=volumes:[Volume] InitContainers=initContainers:[Container] Containers=containers:[Container]
  EphemeralContainers=ephemeralContainers:[EphemeralContainer] RestartPolicy=restartPolicy:s
  TerminationGracePeriodSeconds=terminationGracePeriodSeconds:p ActiveDeadlineSeconds=activeDeadlineSeconds:p
  DNSPolicy=dnsPolicy:s NodeSelector=nodeSelector:p ServiceAccountName=serviceAccountName:s
  AutomountServiceAccountToken=automountServiceAccountToken:p NodeName=nodeName:s
  SecurityContext=securityContext:*{PodSecurityContext} ImagePullSecrets=imagePullSecrets:[LocalObjectReference]
  Hostname=hostname:s Subdomain=subdomain:s SetHostnameAsFQDN=setHostnameAsFQDN:p Affinity=affinity:*{Affinity}
  SchedulerName=schedulerName:s Tolerations=tolerations:[Toleration] HostAliases=hostAliases:[HostAlias]
  PriorityClassName=priorityClassName:s Priority=priority:p PreemptionPolicy=preemptionPolicy:p
  DNSConfig=dnsConfig:*{PodDNSConfig} ReadinessGates=readinessGates:[PodReadinessGate]
  RuntimeClassName=runtimeClassName:p Overhead=overhead:p EnableServiceLinks=enableServiceLinks:p
  TopologySpreadConstraints=topologySpreadConstraints:[TopologySpreadConstraint] OS=os:*{PodOS}
  SchedulingGates=schedulingGates:[PodSchedulingGate] ResourceClaims=resourceClaims:[PodResourceClaim]
  Resources=resources:*{ResourceRequirements} HostnameOverride=hostnameOverride:p
  SchedulingGroup=schedulingGroup:*{PodSchedulingGroup}
Volume Name=name:s HostPath=hostPath:*{HostPathVolumeSource} EmptyDir=emptyDir:*{EmptyDirVolumeSource}
  GCEPersistentDisk=gcePersistentDisk:*{GCEPersistentDiskVolumeSource}
  AWSElasticBlockStore=awsElasticBlockStore:*{AWSElasticBlockStoreVolumeSource}
  GitRepo=gitRepo:*{GitRepoVolumeSource} Secret=secret:*{SecretVolumeSource} NFS=nfs:*{NFSVolumeSource}
  ISCSI=iscsi:*{ISCSIVolumeSource} Glusterfs=glusterfs:*{GlusterfsVolumeSource}
  PersistentVolumeClaim=persistentVolumeClaim:*{PersistentVolumeClaimVolumeSource} RBD=rbd:*{RBDVolumeSource}
  Quobyte=quobyte:*{QuobyteVolumeSource} FlexVolume=flexVolume:*{FlexVolumeSource}
  Cinder=cinder:*{CinderVolumeSource} CephFS=cephfs:*{CephFSVolumeSource} Flocker=flocker:*{FlockerVolumeSource}
  DownwardAPI=downwardAPI:*{DownwardAPIVolumeSource} FC=fc:*{FCVolumeSource}
  AzureFile=azureFile:*{AzureFileVolumeSource} ConfigMap=configMap:*{ConfigMapVolumeSource}
  VsphereVolume=vsphereVolume:*{VsphereVirtualDiskVolumeSource} AzureDisk=azureDisk:*{AzureDiskVolumeSource}
  PhotonPersistentDisk=photonPersistentDisk:*{PhotonPersistentDiskVolumeSource}
  Projected=projected:*{ProjectedVolumeSource} PortworxVolume=portworxVolume:*{PortworxVolumeSource}
  ScaleIO=scaleIO:*{ScaleIOVolumeSource} StorageOS=storageos:*{StorageOSVolumeSource} CSI=csi:*{CSIVolumeSource}
  Ephemeral=ephemeral:*{EphemeralVolumeSource} Image=image:*{ImageVolumeSource}
HostPathVolumeSource Path=path:s Type=type:p
EmptyDirVolumeSource Medium=medium:s SizeLimit=sizeLimit:p
GCEPersistentDiskVolumeSource PDName=pdName:s FSType=fsType:s Partition=partition:i ReadOnly=readOnly:b
AWSElasticBlockStoreVolumeSource VolumeID=volumeID:s FSType=fsType:s Partition=partition:i ReadOnly=readOnly:b
GitRepoVolumeSource Repository=repository:s Revision=revision:s Directory=directory:s
SecretVolumeSource SecretName=secretName:s Items=items:[KeyToPath] DefaultMode=defaultMode:p Optional=optional:p
KeyToPath Key=key:s Path=path:s Mode=mode:p
NFSVolumeSource Server=server:s Path=path:s ReadOnly=readOnly:b
ISCSIVolumeSource TargetPortal=targetPortal:s IQN=iqn:s Lun=lun:i ISCSIInterface=iscsiInterface:s FSType=fsType:s
  ReadOnly=readOnly:b Portals=portals:p DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b
  SecretRef=secretRef:*{LocalObjectReference} InitiatorName=initiatorName:p
LocalObjectReference Name=name:s
GlusterfsVolumeSource EndpointsName=endpoints:s Path=path:s ReadOnly=readOnly:b
PersistentVolumeClaimVolumeSource ClaimName=claimName:s ReadOnly=readOnly:b
RBDVolumeSource CephMonitors=monitors:p RBDImage=image:s FSType=fsType:s RBDPool=pool:s RadosUser=user:s
  Keyring=keyring:s SecretRef=secretRef:*{LocalObjectReference} ReadOnly=readOnly:b
QuobyteVolumeSource Registry=registry:s Volume=volume:s ReadOnly=readOnly:b User=user:s Group=group:s
  Tenant=tenant:s
FlexVolumeSource Driver=driver:s FSType=fsType:s SecretRef=secretRef:*{LocalObjectReference} ReadOnly=readOnly:b
  Options=options:p
CinderVolumeSource VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b
  SecretRef=secretRef:*{LocalObjectReference}
CephFSVolumeSource Monitors=monitors:p Path=path:s User=user:s SecretFile=secretFile:s
  SecretRef=secretRef:*{LocalObjectReference} ReadOnly=readOnly:b
FlockerVolumeSource DatasetName=datasetName:s DatasetUUID=datasetUUID:s
DownwardAPIVolumeSource Items=items:[DownwardAPIVolumeFile] DefaultMode=defaultMode:p
DownwardAPIVolumeFile Path=path:s FieldRef=fieldRef:*{ObjectFieldSelector}
  ResourceFieldRef=resourceFieldRef:*{ResourceFieldSelector} Mode=mode:p
ObjectFieldSelector APIVersion=apiVersion:s FieldPath=fieldPath:s
ResourceFieldSelector ContainerName=containerName:s Resource=resource:s Divisor=divisor:p
FCVolumeSource TargetWWNs=targetWWNs:p Lun=lun:p FSType=fsType:s ReadOnly=readOnly:b WWIDs=wwids:p
AzureFileVolumeSource SecretName=secretName:s ShareName=shareName:s ReadOnly=readOnly:b
ConfigMapVolumeSource Name=name:s Items=items:[KeyToPath] DefaultMode=defaultMode:p Optional=optional:p
VsphereVirtualDiskVolumeSource VolumePath=volumePath:s FSType=fsType:s StoragePolicyName=storagePolicyName:s
  StoragePolicyID=storagePolicyID:s
AzureDiskVolumeSource DiskName=diskName:s DataDiskURI=diskURI:s CachingMode=cachingMode:p FSType=fsType:p
  ReadOnly=readOnly:p Kind=kind:p
PhotonPersistentDiskVolumeSource PdID=pdID:s FSType=fsType:s
ProjectedVolumeSource Sources=sources:[VolumeProjection] DefaultMode=defaultMode:p
VolumeProjection Secret=secret:*{SecretProjection} DownwardAPI=downwardAPI:*{DownwardAPIProjection}
  ConfigMap=configMap:*{ConfigMapProjection}
  ServiceAccountToken=serviceAccountToken:*{ServiceAccountTokenProjection}
  ClusterTrustBundle=clusterTrustBundle:*{ClusterTrustBundleProjection}
  PodCertificate=podCertificate:*{PodCertificateProjection}
SecretProjection Name=name:s Items=items:[KeyToPath] Optional=optional:p
DownwardAPIProjection Items=items:[DownwardAPIVolumeFile]
ConfigMapProjection Name=name:s Items=items:[KeyToPath] Optional=optional:p
ServiceAccountTokenProjection Audience=audience:s ExpirationSeconds=expirationSeconds:i Path=path:s
ClusterTrustBundleProjection Name=name:p SignerName=signerName:p LabelSelector=labelSelector:p Optional=optional:p
  Path=path:s
PodCertificateProjection SignerName=signerName:s KeyType=keyType:s MaxExpirationSeconds=maxExpirationSeconds:p
  CredentialBundlePath=credentialBundlePath:s KeyPath=keyPath:s CertificateChainPath=certificateChainPath:s
  UserAnnotations=userAnnotations:p
PortworxVolumeSource VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b
ScaleIOVolumeSource Gateway=gateway:s System=system:s SecretRef=secretRef:*{LocalObjectReference}
  SSLEnabled=sslEnabled:b ProtectionDomain=protectionDomain:s StoragePool=storagePool:s StorageMode=storageMode:s
  VolumeName=volumeName:s FSType=fsType:s ReadOnly=readOnly:b
StorageOSVolumeSource VolumeName=volumeName:s VolumeNamespace=volumeNamespace:s FSType=fsType:s ReadOnly=readOnly:b
  SecretRef=secretRef:*{LocalObjectReference}
CSIVolumeSource Driver=driver:s ReadOnly=readOnly:p FSType=fsType:p VolumeAttributes=volumeAttributes:p
  NodePublishSecretRef=nodePublishSecretRef:*{LocalObjectReference}
EphemeralVolumeSource VolumeClaimTemplate=volumeClaimTemplate:*{PersistentVolumeClaimTemplate}
PersistentVolumeClaimTemplate ObjectMeta=metadata:p Spec=spec:{PersistentVolumeClaimSpec}
PersistentVolumeClaimSpec AccessModes=accessModes:p Selector=selector:p
  Resources=resources:{VolumeResourceRequirements} VolumeName=volumeName:s StorageClassName=storageClassName:p
  VolumeMode=volumeMode:p DataSource=dataSource:*{TypedLocalObjectReference}
  DataSourceRef=dataSourceRef:*{TypedObjectReference} VolumeAttributesClassName=volumeAttributesClassName:p
VolumeResourceRequirements Limits=limits:p Requests=requests:p
TypedLocalObjectReference APIGroup=apiGroup:p Kind=kind:s Name=name:s
TypedObjectReference APIGroup=apiGroup:p Kind=kind:s Name=name:s Namespace=namespace:p
ImageVolumeSource Reference=reference:s PullPolicy=pullPolicy:s
Container Name=name:s Image=image:s Command=command:p Args=args:p WorkingDir=workingDir:s
  Ports=ports:[ContainerPort] EnvFrom=envFrom:[EnvFromSource] Env=env:[EnvVar]
  Resources=resources:{ResourceRequirements} ResizePolicy=resizePolicy:[ContainerResizePolicy]
  RestartPolicy=restartPolicy:p RestartPolicyRules=restartPolicyRules:[ContainerRestartRule]
  VolumeMounts=volumeMounts:[VolumeMount] VolumeDevices=volumeDevices:[VolumeDevice]
  LivenessProbe=livenessProbe:*{Probe} ReadinessProbe=readinessProbe:*{Probe} StartupProbe=startupProbe:*{Probe}
  Lifecycle=lifecycle:*{Lifecycle} TerminationMessagePath=terminationMessagePath:s
  TerminationMessagePolicy=terminationMessagePolicy:s ImagePullPolicy=imagePullPolicy:s
  SecurityContext=securityContext:*{SecurityContext} Stdin=stdin:b StdinOnce=stdinOnce:b TTY=tty:b
ContainerPort Name=name:s HostPort=hostPort:i ContainerPort=containerPort:i Protocol=protocol:s HostIP=hostIP:s
EnvFromSource Prefix=prefix:s ConfigMapRef=configMapRef:*{ConfigMapEnvSource} SecretRef=secretRef:*{SecretEnvSource}
ConfigMapEnvSource Name=name:s Optional=optional:p
SecretEnvSource Name=name:s Optional=optional:p
EnvVar Name=name:s Value=value:s ValueFrom=valueFrom:*{EnvVarSource}
EnvVarSource FieldRef=fieldRef:*{ObjectFieldSelector} ResourceFieldRef=resourceFieldRef:*{ResourceFieldSelector}
  ConfigMapKeyRef=configMapKeyRef:*{ConfigMapKeySelector} SecretKeyRef=secretKeyRef:*{SecretKeySelector}
  FileKeyRef=fileKeyRef:*{FileKeySelector}
ConfigMapKeySelector Name=name:s Key=key:s Optional=optional:p
SecretKeySelector Name=name:s Key=key:s Optional=optional:p
FileKeySelector VolumeName=volumeName:s Path=path:s Key=key:s Optional=optional:p
ResourceRequirements Limits=limits:p Requests=requests:p Claims=claims:[ResourceClaim]
ResourceClaim Name=name:s Request=request:s
ContainerResizePolicy ResourceName=resourceName:s RestartPolicy=restartPolicy:s
ContainerRestartRule Action=action:s ExitCodes=exitCodes:*{ContainerRestartRuleOnExitCodes}
ContainerRestartRuleOnExitCodes Operator=operator:s Values=values:p
VolumeMount Name=name:s ReadOnly=readOnly:b RecursiveReadOnly=recursiveReadOnly:p MountPath=mountPath:s
  SubPath=subPath:s MountPropagation=mountPropagation:p SubPathExpr=subPathExpr:s
VolumeDevice Name=name:s DevicePath=devicePath:s
Probe Exec=exec:*{ExecAction} HTTPGet=httpGet:*{HTTPGetAction} TCPSocket=tcpSocket:*{TCPSocketAction}
  GRPC=grpc:*{GRPCAction} InitialDelaySeconds=initialDelaySeconds:i TimeoutSeconds=timeoutSeconds:i
  PeriodSeconds=periodSeconds:i SuccessThreshold=successThreshold:i FailureThreshold=failureThreshold:i
  TerminationGracePeriodSeconds=terminationGracePeriodSeconds:p
ExecAction Command=command:p
HTTPGetAction Path=path:s Port=port:i Host=host:s Scheme=scheme:s HTTPHeaders=httpHeaders:[HTTPHeader]
HTTPHeader Name=name:s Value=value:s
TCPSocketAction Port=port:i Host=host:s
GRPCAction Port=port:i Service=service:p
Lifecycle PostStart=postStart:*{LifecycleHandler} PreStop=preStop:*{LifecycleHandler} StopSignal=stopSignal:p
LifecycleHandler Exec=exec:*{ExecAction} HTTPGet=httpGet:*{HTTPGetAction} TCPSocket=tcpSocket:*{TCPSocketAction}
  Sleep=sleep:*{SleepAction}
SleepAction Seconds=seconds:i
SecurityContext Capabilities=capabilities:*{Capabilities} Privileged=privileged:p
  SELinuxOptions=seLinuxOptions:*{SELinuxOptions} WindowsOptions=windowsOptions:*{WindowsSecurityContextOptions}
  RunAsUser=runAsUser:p RunAsGroup=runAsGroup:p RunAsNonRoot=runAsNonRoot:p
  ReadOnlyRootFilesystem=readOnlyRootFilesystem:p AllowPrivilegeEscalation=allowPrivilegeEscalation:p
  ProcMount=procMount:p SeccompProfile=seccompProfile:*{SeccompProfile}
  AppArmorProfile=appArmorProfile:*{AppArmorProfile}
Capabilities Add=add:p Drop=drop:p
SELinuxOptions User=user:s Role=role:s Type=type:s Level=level:s
WindowsSecurityContextOptions GMSACredentialSpecName=gmsaCredentialSpecName:p
  GMSACredentialSpec=gmsaCredentialSpec:p RunAsUserName=runAsUserName:p HostProcess=hostProcess:p
SeccompProfile Type=type:s LocalhostProfile=localhostProfile:p
AppArmorProfile Type=type:s LocalhostProfile=localhostProfile:p
EphemeralContainer Name=name:s Image=image:s Command=command:p Args=args:p WorkingDir=workingDir:s
  Ports=ports:[ContainerPort] EnvFrom=envFrom:[EnvFromSource] Env=env:[EnvVar]
  Resources=resources:{ResourceRequirements} ResizePolicy=resizePolicy:[ContainerResizePolicy]
  RestartPolicy=restartPolicy:p RestartPolicyRules=restartPolicyRules:[ContainerRestartRule]
  VolumeMounts=volumeMounts:[VolumeMount] VolumeDevices=volumeDevices:[VolumeDevice]
  LivenessProbe=livenessProbe:*{Probe} ReadinessProbe=readinessProbe:*{Probe} StartupProbe=startupProbe:*{Probe}
  Lifecycle=lifecycle:*{Lifecycle} TerminationMessagePath=terminationMessagePath:s
  TerminationMessagePolicy=terminationMessagePolicy:s ImagePullPolicy=imagePullPolicy:s
  SecurityContext=securityContext:*{SecurityContext} Stdin=stdin:b StdinOnce=stdinOnce:b TTY=tty:b
  TargetContainerName=targetContainerName:s
PodSecurityContext HostNetwork=hostNetwork:b HostPID=hostPID:b HostIPC=hostIPC:b
  ShareProcessNamespace=shareProcessNamespace:p HostUsers=hostUsers:p
  SELinuxOptions=seLinuxOptions:*{SELinuxOptions} WindowsOptions=windowsOptions:*{WindowsSecurityContextOptions}
  RunAsUser=runAsUser:p RunAsGroup=runAsGroup:p RunAsNonRoot=runAsNonRoot:p SupplementalGroups=supplementalGroups:p
  SupplementalGroupsPolicy=supplementalGroupsPolicy:p FSGroup=fsGroup:p FSGroupChangePolicy=fsGroupChangePolicy:p
  Sysctls=sysctls:[Sysctl] SeccompProfile=seccompProfile:*{SeccompProfile}
  AppArmorProfile=appArmorProfile:*{AppArmorProfile} SELinuxChangePolicy=seLinuxChangePolicy:p
Sysctl Name=name:s Value=value:s
Affinity NodeAffinity=nodeAffinity:*{NodeAffinity} PodAffinity=podAffinity:*{PodAffinity}
  PodAntiAffinity=podAntiAffinity:*{PodAntiAffinity}
NodeAffinity
  RequiredDuringSchedulingIgnoredDuringExecution=requiredDuringSchedulingIgnoredDuringExecution:*{NodeSelector}
  PreferredDuringSchedulingIgnoredDuringExecution=preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm]
NodeSelector NodeSelectorTerms=nodeSelectorTerms:[NodeSelectorTerm]
NodeSelectorTerm MatchExpressions=matchExpressions:[NodeSelectorRequirement]
  MatchFields=matchFields:[NodeSelectorRequirement]
NodeSelectorRequirement Key=key:s Operator=operator:s Values=values:p
PreferredSchedulingTerm Weight=weight:i Preference=preference:{NodeSelectorTerm}
PodAffinity
  RequiredDuringSchedulingIgnoredDuringExecution=requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]
  PreferredDuringSchedulingIgnoredDuringExecution=preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm]
PodAffinityTerm LabelSelector=labelSelector:p Namespaces=namespaces:p TopologyKey=topologyKey:s
  NamespaceSelector=namespaceSelector:p MatchLabelKeys=matchLabelKeys:p MismatchLabelKeys=mismatchLabelKeys:p
WeightedPodAffinityTerm Weight=weight:i PodAffinityTerm=podAffinityTerm:{PodAffinityTerm}
PodAntiAffinity
  RequiredDuringSchedulingIgnoredDuringExecution=requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]
  PreferredDuringSchedulingIgnoredDuringExecution=preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm]
Toleration Key=key:s Operator=operator:s Value=value:s Effect=effect:s TolerationSeconds=tolerationSeconds:p
HostAlias IP=ip:s Hostnames=hostnames:p
PodDNSConfig Nameservers=nameservers:p Searches=searches:p Options=options:[PodDNSConfigOption]
PodDNSConfigOption Name=name:s Value=value:p
PodReadinessGate ConditionType=conditionType:s
TopologySpreadConstraint MaxSkew=maxSkew:i TopologyKey=topologyKey:s WhenUnsatisfiable=whenUnsatisfiable:s
  LabelSelector=labelSelector:p MinDomains=minDomains:p NodeAffinityPolicy=nodeAffinityPolicy:p
  NodeTaintsPolicy=nodeTaintsPolicy:p MatchLabelKeys=matchLabelKeys:p
PodOS Name=name:s
PodSchedulingGate Name=name:s
PodResourceClaim Name=name:s ResourceClaimName=resourceClaimName:p
  ResourceClaimTemplateName=resourceClaimTemplateName:p
PodSchedulingGroup PodGroupName=podGroupName:p
"""
