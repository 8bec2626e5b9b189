"""The source of a persistent volume as Go's internal type has it, for the message that it must not change."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import shape

_REFERENCE: Final = "*{Name=name:s Namespace=namespace:s}"
_DISK: Final = "FSType=fsType:s Partition=partition:i ReadOnly=readOnly:b"

SOURCE: Final = shape(
    f"""
    GCEPersistentDisk=gcePersistentDisk:*{{PDName=pdName:s {_DISK}}}
    AWSElasticBlockStore=awsElasticBlockStore:*{{VolumeID=volumeID:s {_DISK}}}
    HostPath=hostPath:*{{Path=path:s Type=type:p}}
    Glusterfs=glusterfs:*{{EndpointsName=endpoints:s Path=path:s ReadOnly=readOnly:b
        EndpointsNamespace=endpointsNamespace:p}}
    NFS=nfs:*{{Server=server:s Path=path:s ReadOnly=readOnly:b}}
    RBD=rbd:*{{CephMonitors=monitors:p RBDImage=image:s FSType=fsType:s RBDPool=pool:s RadosUser=user:s
        Keyring=keyring:s SecretRef=secretRef:{_REFERENCE} ReadOnly=readOnly:b}}
    Quobyte=quobyte:*{{Registry=registry:s Volume=volume:s ReadOnly=readOnly:b User=user:s Group=group:s
        Tenant=tenant:s}}
    ISCSI=iscsi:*{{TargetPortal=targetPortal:s IQN=iqn:s Lun=lun:i ISCSIInterface=iscsiInterface:s FSType=fsType:s
        ReadOnly=readOnly:b Portals=portals:p DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b
        SecretRef=secretRef:{_REFERENCE} InitiatorName=initiatorName:p}}
    FlexVolume=flexVolume:*{{Driver=driver:s FSType=fsType:s SecretRef=secretRef:{_REFERENCE} ReadOnly=readOnly:b
        Options=options:p}}
    Cinder=cinder:*{{VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b SecretRef=secretRef:{_REFERENCE}}}
    CephFS=cephfs:*{{Monitors=monitors:p Path=path:s User=user:s SecretFile=secretFile:s
        SecretRef=secretRef:{_REFERENCE} ReadOnly=readOnly:b}}
    FC=fc:*{{TargetWWNs=targetWWNs:p Lun=lun:p FSType=fsType:s ReadOnly=readOnly:b WWIDs=wwids:p}}
    Flocker=flocker:*{{DatasetName=datasetName:s DatasetUUID=datasetUUID:s}}
    AzureFile=azureFile:*{{SecretName=secretName:s ShareName=shareName:s ReadOnly=readOnly:b
        SecretNamespace=secretNamespace:p}}
    VsphereVolume=vsphereVolume:*{{VolumePath=volumePath:s FSType=fsType:s StoragePolicyName=storagePolicyName:s
        StoragePolicyID=storagePolicyID:s}}
    AzureDisk=azureDisk:*{{DiskName=diskName:s DataDiskURI=diskURI:s CachingMode=cachingMode:p FSType=fsType:p
        ReadOnly=readOnly:p Kind=kind:p}}
    PhotonPersistentDisk=photonPersistentDisk:*{{PdID=pdID:s FSType=fsType:s}}
    PortworxVolume=portworxVolume:*{{VolumeID=volumeID:s FSType=fsType:s ReadOnly=readOnly:b}}
    ScaleIO=scaleIO:*{{Gateway=gateway:s System=system:s SecretRef=secretRef:{_REFERENCE} SSLEnabled=sslEnabled:b
        ProtectionDomain=protectionDomain:s StoragePool=storagePool:s StorageMode=storageMode:s VolumeName=volumeName:s
        FSType=fsType:s ReadOnly=readOnly:b}}
    Local=local:*{{Path=path:s FSType=fsType:p}}
    StorageOS=storageos:*{{VolumeName=volumeName:s VolumeNamespace=volumeNamespace:s FSType=fsType:s
        ReadOnly=readOnly:b SecretRef=secretRef:*{{Kind=kind:s Namespace=namespace:s Name=name:s UID=uid:s
        APIVersion=apiVersion:s ResourceVersion=resourceVersion:s FieldPath=fieldPath:s}}}}
    CSI=csi:*{{Driver=driver:s VolumeHandle=volumeHandle:s ReadOnly=readOnly:b FSType=fsType:s
        VolumeAttributes=volumeAttributes:p ControllerPublishSecretRef=controllerPublishSecretRef:{_REFERENCE}
        NodeStageSecretRef=nodeStageSecretRef:{_REFERENCE} NodePublishSecretRef=nodePublishSecretRef:{_REFERENCE}
        ControllerExpandSecretRef=controllerExpandSecretRef:{_REFERENCE}
        NodeExpandSecretRef=nodeExpandSecretRef:{_REFERENCE}}}
    """
)

_REQUIREMENT: Final = "[Key=key:s Operator=operator:s Values=values:p]"
AFFINITY: Final = shape(
    "Required=required:*{NodeSelectorTerms=nodeSelectorTerms:"
    f"[MatchExpressions=matchExpressions:{_REQUIREMENT} MatchFields=matchFields:{_REQUIREMENT}]}}"
)
