"""Machines to ask Cluster API's bootstrap provider about: every field of a KubeadmConfig, in each role and format.

What differs on purpose is left out here and told in docs/bootstrap.md: texts that upstream's templates break, and
fields that it drops for Ignition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

NEW, OLD = "v1.36.3", "v1.30.4"
CLUSTER = {
    "name": "harbour",
    "endpoint": "10.1.2.3:6443",
    "dnsDomain": "cluster.test",
    "serviceSubnet": "10.128.0.0/12,fd00:1::/108",
    "podSubnet": "192.168.0.0/16",
}
CERTIFICATES = {
    "ca": {"certificate": "CERTIFICATE ca\n", "key": "KEY ca\n"},
    "etcd": {"certificate": "CERTIFICATE etcd\n", "key": "KEY etcd\n"},
    "proxy": {"certificate": "CERTIFICATE proxy\n", "key": "KEY proxy\n"},
    "sa": {"certificate": "PUBLIC sa\n", "key": "KEY sa\n"},
}
EXTERNAL = {
    **{name: pair for name, pair in CERTIFICATES.items() if name != "etcd"},
    "etcd": {"certificate": "CERTIFICATE etcd\n", "key": ""},
    "apiserver-etcd-client": {"certificate": "CERTIFICATE client\n", "key": "KEY client\n"},
}
DISCOVERY = {
    "bootstrapToken": {
        "token": "abcdef.0123456789abcdef",
        "apiServerEndpoint": "10.1.2.3:6443",
        "caCertHashes": ["sha256:" + "0f" * 32],
    }
}
ARGUMENTS = [{"name": "v", "value": "4"}, {"name": "profiling", "value": "false"}, {"name": "empty", "value": ""}]
VOLUMES = [
    {
        "name": "audit",
        "hostPath": "/etc/audit",
        "mountPath": "/audit",
        "readOnly": True,
        "pathType": "DirectoryOrCreate",
    },
    {"name": "logs", "hostPath": "/var/log/a", "mountPath": "/logs"},
]
ENVIRONMENT = [
    {"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
    {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
]
COMPONENT = {"extraArgs": ARGUMENTS, "extraVolumes": VOLUMES, "extraEnvs": ENVIRONMENT}
TIMEOUTS = {
    "controlPlaneComponentHealthCheckSeconds": 300,
    "kubeletHealthCheckSeconds": 0,
    "kubernetesAPICallSeconds": 61,
    "etcdAPICallSeconds": 3600,
    "tlsBootstrapSeconds": 7325,
    "discoverySeconds": 45,
}
REGISTRATION = {
    "name": "{{ ds.meta_data.local_hostname }}",
    "criSocket": "unix:///run/containerd/containerd.sock",
    "taints": [
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "c", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"},
    ],
    "kubeletExtraArgs": [{"name": "node-labels", "value": "a=b,c=d"}, {"name": "v", "value": "2"}],
    "ignorePreflightErrors": ["Swap", "NumCPU"],
    "imagePullPolicy": "IfNotPresent",
    "imagePullSerial": False,
}
FILES = [
    {"path": "/etc/plain", "permissions": "0644", "content": "one\ntwo\n"},
    {"path": "/etc/owned", "owner": "root:adm", "permissions": "0600", "content": "key: value\n# comment\n"},
    {"path": "/etc/encoded", "encoding": "base64", "content": "aGVsbG8=", "permissions": "0444"},
    {
        "path": "/etc/template",
        "permissions": "0644",
        "content": "id: {{ ds.meta_data.instance_id }}\n{% if true %}yes{% endif %}\n",
    },
]
USERS = [
    {
        "name": "ana",
        "sudo": "ALL=(ALL) NOPASSWD:ALL",
        "sshAuthorizedKeys": ["ssh-ed25519 AAAA ana", "ssh-rsa BBBB ana"],
    },
    {
        "name": "bob",
        "gecos": "Bob Bobson",
        "groups": "users, docker",
        "homeDir": "/srv/bob",
        "shell": "/bin/zsh",
        "passwd": "$6$salt$hash",
        "primaryGroup": "staff",
        "lockPassword": False,
    },
]


def questions() -> Iterator[Json]:
    """All of them, each with a name of its own."""
    for version in (NEW, OLD):
        yield _ask("init", version, {}, "nothing said")
        yield _ask("init", version, {"clusterConfiguration": _cluster_settings()}, "cluster settings")
        yield _ask("init", version, {"initConfiguration": _init_settings()}, "init settings")
        yield _ask("init", version, _external(), "external etcd", certificates=EXTERNAL)
        yield _ask("join", version, _join(), "a further control plane")
        yield _ask("join", version, _join(**_join_settings(), controlPlane={}), "join settings")
        yield _ask("join", version, {**_join(), **_external()}, "joining with external etcd", certificates=EXTERNAL)
        yield _ask("worker", version, _join(), "a worker")
        yield _ask("worker", version, _join(**_join_settings()), "a worker with settings")
        for taints in ([], [{"key": "node.cluster.x-k8s.io/other", "effect": "NoSchedule"}]):
            yield _ask("worker", version, _join(nodeRegistration={"taints": taints}), f"{len(taints)} taints")
            yield _ask("join", version, _join(nodeRegistration={"taints": taints}), f"{len(taints)} taints")
    yield _ask("worker", NEW, _join(discovery={"file": {"kubeConfigPath": "/etc/d.conf"}}), "discovery by file")
    yield _ask(
        "worker", NEW, _join(discovery={**DISCOVERY, "tlsBootstrapToken": "abcdef.fedcba9876543210"}), "tls token"
    )
    for format in ("cloud-config", "ignition"):
        for role, content in (("init", {}), ("join", _join()), ("worker", _join())):
            yield _ask(role, NEW, {**content, **_machine(), "format": format}, f"{format} {role}")
    yield _ask("worker", NEW, {**_join(), **_cloud_config_only()}, "only cloud-config")
    for name, config in CONTAINER_LINUX.items():
        yield _ask("worker", NEW, {**_join(), **_ignition(config)}, name)


def _ask(role: str, version: str, spec: Json, name: str, certificates: Json = CERTIFICATES) -> Json:
    given = {} if role == "worker" else certificates
    return {
        "name": f"{name}, {role}, {version}",
        "role": role,
        "version": version,
        "spec": spec,
        "cluster": CLUSTER,
        "certificates": given,
    }


def _cluster_settings() -> Json:
    return {
        "etcd": {
            "local": {
                "imageRepository": "registry.test/etcd",
                "imageTag": "3.6.1-0",
                "dataDir": "/data/etcd",
                "extraArgs": ARGUMENTS,
                "extraEnvs": ENVIRONMENT[:1],
                "serverCertSANs": ["etcd.test"],
                "peerCertSANs": ["10.0.0.9"],
            }
        },
        "controlPlaneEndpoint": "api.test:443",
        "apiServer": {**COMPONENT, "certSANs": ["api.test", "10.0.0.1"]},
        "controllerManager": COMPONENT,
        "scheduler": {"extraArgs": ARGUMENTS[:1]},
        "dns": {"imageRepository": "registry.test/coredns", "imageTag": "v1.14.0"},
        "certificatesDir": "/etc/pki",
        "imageRepository": "registry.test",
        "featureGates": {"PublicKeysECDSA": False, "RootlessControlPlane": True},
        "certificateValidityPeriodDays": 100,
        "caCertificateValidityPeriodDays": 5000,
        "encryptionAlgorithm": "ECDSA-P256",
    }


def _init_settings() -> Json:
    return {
        "bootstrapTokens": [
            {
                "token": "abcdef.0123456789abcdef",
                "description": "for 'tests': all",
                "ttlSeconds": 900,
                "usages": ["signing", "authentication"],
                "groups": ["system:bootstrappers:kubeadm:default-node-token"],
            },
            {"token": "123456.1e34567890123456", "expires": "2030-01-02T03:04:05Z"},
        ],
        "nodeRegistration": REGISTRATION,
        "localAPIEndpoint": {"advertiseAddress": "10.0.0.5", "bindPort": 7443},
        "skipPhases": ["addon/kube-proxy"],
        "patches": {"directory": "/etc/patches"},
        "timeouts": TIMEOUTS,
    }


def _join_settings() -> Json:
    return {
        "nodeRegistration": REGISTRATION,
        "caCertPath": "/etc/pki/cluster.crt",
        "skipPhases": ["preflight"],
        "patches": {"directory": "/etc/patches"},
        "timeouts": TIMEOUTS,
    }


def _join(**settings: Any) -> Json:
    return {"joinConfiguration": {"discovery": DISCOVERY, **settings}}


def _external() -> Json:
    etcd = {"endpoints": ["https://e1:2379"], "caFile": "/e/ca.crt", "certFile": "/e/c.crt", "keyFile": "/e/c.key"}
    return {"clusterConfiguration": {"etcd": {"external": etcd}}}


def _machine() -> Json:
    return {
        "files": FILES,
        "users": USERS,
        "ntp": {"enabled": True, "servers": ["0.pool.ntp.org", "10.0.0.2"]},
        "mounts": [["data", "/var/lib/data", "noatime", "nofail"]],
        "diskSetup": {
            "partitions": [{"device": "/dev/sdb", "layout": True, "overwrite": True, "tableType": "gpt"}],
            "filesystems": [
                {
                    "device": "/dev/sdb1",
                    "filesystem": "ext4",
                    "label": "data",
                    "overwrite": False,
                    "extraOpts": ["-E", "lazy_itable_init=1"],
                }
            ],
        },
        "preKubeadmCommands": ['hostname "{{ ds.meta_data.hostname }}"', "echo a > /b && c | d; e '$F'"],
        "postKubeadmCommands": ["true", "for i in 1 2; do\n  echo $i\ndone"],
        "verbosity": 5,
    }


def _cloud_config_only() -> Json:
    return {
        "bootCommands": ["cloud-init-per once x echo 'a: b'"],
        "ntp": {"servers": ["a.test"]},
        "files": [{"path": "/etc/more", "append": True, "content": "more\n"}],
        "diskSetup": {
            "partitions": [
                {
                    "device": "/dev/sdc",
                    "tableType": "mbr",
                    "diskLayout": [
                        {"percentage": 40, "partitionType": "LinuxSwap"},
                        {"percentage": 20, "partitionType": "LinuxRAID"},
                        {"percentage": 40},
                    ],
                },
                {"device": "/dev/sdd", "layout": False},
            ],
            "filesystems": [
                {
                    "device": "/dev/sdc",
                    "filesystem": "xfs",
                    "label": "x",
                    "partition": "1",
                    "overwrite": True,
                    "replaceFS": "ntfs",
                }
            ],
        },
    }


def _ignition(config: str, *, strict: bool = True) -> Json:
    settings = {"additionalConfig": config, "strict": strict}
    return {"format": "ignition", "ignition": {"containerLinuxConfig": settings}}


CONTAINER_LINUX = {
    "files, folders and links": """\
storage:
  files:
    - path: /etc/inline
      mode: 0644
      contents: {inline: "a: b\\n"}
      user: {id: 500}
      group: {name: adm}
      overwrite: true
    - path: /etc/binary
      mode: 0600
      contents: {inline: !!binary aGVsbG8=}
    - path: /opt/remote
      filesystem: root
      mode: 0755
      contents:
        remote:
          url: https://example.test/a?b=c
          compression: gzip
          verification: {hash: {function: sha512, sum: "%s"}}
    - path: /etc/more
      mode: 0644
      append: true
      contents: {inline: more}
    - path: /etc/empty
      mode: 0
  directories:
    - {path: /opt/bin, mode: 0755, user: {name: core}}
  links:
    - {path: /etc/localtime, target: /usr/share/zoneinfo/UTC}
    - {path: /a, target: /b, hard: true, overwrite: true}
"""
    % ("ab" * 64),
    "disks": """\
storage:
  disks:
    - device: /dev/sdb
      wipe_table: true
      partitions:
        - {label: one, number: 1, size: 512MiB, start: 1MiB, type_guid: swap_partition}
        - {label: two, number: 2, size: 1GiB512MiB, type_guid: 0FC63DAF-8483-4772-8E79-3D69D8477DE4}
        - {guid: 0fc63daf-8483-4772-8e79-3d69d8477de4}
  raid:
    - {name: md, level: raid1, devices: [/dev/sdc, /dev/sdd], spares: 1, options: [--verbose]}
  filesystems:
    - name: data
      mount: {device: /dev/md/md, format: ext4, wipe_filesystem: true, label: data, uuid: abc, options: [-m, "1"]}
    - {name: there, path: /sysroot/there}
  files:
    - {path: /f, filesystem: data, mode: 0644, contents: {inline: x}}
""",
    "units": """\
systemd:
  units:
    - name: a.service
      enabled: true
      contents: |
        [Service]
        ExecStart=/bin/true
        [Install]
        WantedBy=multi-user.target
    - {name: b.timer, mask: true}
    - name: kubeadm.service
      dropins:
        - {name: 10-more.conf, contents: "[Unit]\\nAfter=x.service\\n"}
networkd:
  units:
    - name: 00-a.network
      contents: "[Match]\\nName=eth0\\n"
      dropins:
        - {name: x.conf, contents: "[Network]\\nDHCP=yes\\n"}
""",
    "accounts": """\
passwd:
  users:
    - name: core
      password_hash: $6$x
      ssh_authorized_keys: [ssh-ed25519 AAAA]
      uid: 1001
      gecos: Core
      home_dir: /h
      no_create_home: true
      primary_group: g
      groups: [a, b]
      no_user_group: true
      system: true
      no_log_init: true
      shell: /bin/sh
  groups:
    - {name: g, gid: 77, password_hash: x, system: true}
""",
    "ignition itself": """\
ignition:
  config:
    append:
      - {source: "https://example.test/more.ign"}
  timeouts: {http_response_headers: 10, http_total: 60}
  security:
    tls:
      certificate_authorities:
        - source: https://example.test/ca.pem
""",
    "services": """\
update: {group: Stable, server: "https://updates.test/v1"}
locksmith: {reboot_strategy: "off", window_start: "Mon 03:00", window_length: 2h}
docker:
  flags: [--debug, --ip=1.2.3.4]
""",
}
