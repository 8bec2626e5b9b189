#!/bin/sh
# Puts containerd, kubelet, kubeadm and kubectl onto a plain system with apt or dnf, and prepares it for them.
#
#   nagaya-install-kubernetes VERSION MIRROR     for example: 1.36.3 https://pkgs.k8s.io
#
# Running it again changes nothing. A configuration of containerd that is there before containerd is, is left alone.
set -eu

version=$1
mirror=$2
minor=${version%.*}
repository=$mirror/core:/stable:/v$minor

fail() {
    echo "nagaya-install-kubernetes: $*" >&2
    exit 1
}

# Networks and package locks of a machine that has just booted may need a while.
insist() {
    for pause in 2 5 10 20 30 0; do
        if "$@"; then return 0; fi
        sleep "$pause"
    done
    fail "gave up: $*"
}

without_swap() {
    swapoff -a
    if [ -e /etc/fstab ]; then
        sed -i -e '/^[[:space:]]*[^#[:space:]]\{1,\}[[:space:]]\{1,\}[^[:space:]]\{1,\}[[:space:]]\{1,\}swap[[:space:]]/s/^/# /' /etc/fstab
    fi
    systemctl mask swap.target
}

with_apt() {
    export DEBIAN_FRONTEND=noninteractive
    insist apt-get -o DPkg::Lock::Timeout=60 update
    insist apt_install ca-certificates curl
    if ! command -v containerd > /dev/null; then insist apt_install containerd; fi
    install -d -m 0755 /etc/apt/keyrings
    insist curl --fail --silent --show-error --location --output /etc/apt/keyrings/kubernetes.asc "$repository/deb/Release.key"
    chmod 0644 /etc/apt/keyrings/kubernetes.asc
    echo "deb [signed-by=/etc/apt/keyrings/kubernetes.asc] $repository/deb/ /" > /etc/apt/sources.list.d/kubernetes.list
    insist apt-get -o DPkg::Lock::Timeout=60 update
    insist apt_install --allow-change-held-packages "kubelet=$version-*" "kubeadm=$version-*" "kubectl=$version-*"
    apt-mark hold kubelet kubeadm kubectl
}

apt_install() {
    apt-get -o DPkg::Lock::Timeout=60 -o Dpkg::Options::=--force-confold install --yes "$@"
}

with_dnf() {
    if ! command -v containerd > /dev/null; then insist dnf install --assumeyes containerd; fi
    cat > /etc/yum.repos.d/kubernetes.repo << END
[kubernetes]
name=Kubernetes
baseurl=$repository/rpm/
enabled=1
gpgcheck=1
gpgkey=$repository/rpm/repodata/repomd.xml.key
exclude=kubelet kubeadm kubectl cri-tools kubernetes-cni
END
    insist dnf install --assumeyes --setopt=disable_excludes=kubernetes "kubelet-$version" "kubeadm-$version" "kubectl-$version"
}

# Kubernetes counts a pod's memory and processor in groups that systemd makes, and network plugins come to /opt/cni/bin.
configure_containerd() {
    install -d -m 0755 /etc/containerd
    containerd config default > /etc/containerd/config.toml.new
    sed -i -e 's/SystemdCgroup = false/SystemdCgroup = true/' -e 's#"/usr/lib/cni"#"/opt/cni/bin"#' /etc/containerd/config.toml.new
    mv /etc/containerd/config.toml.new /etc/containerd/config.toml
}

# The kubelet needs a runtime that tells it how it groups processes since 1.37; containerd does since 2.0.
check_containerd() {
    found=$(containerd --version | sed -n 's/^[^ ]* [^ ]* v\{0,1\}\([0-9]*\)\..*/\1/p')
    if [ "${minor#*.}" -ge 37 ] && [ "${found:-0}" -lt 2 ]; then
        fail "Kubernetes $version needs containerd 2 and this system has containerd $found. Use an image of a newer release, or one with containerd 2 in it."
    fi
}

without_swap
modprobe -a overlay br_netfilter
sysctl --quiet --system

own_configuration=false
if [ -e /etc/containerd/config.toml ]; then own_configuration=true; fi
if command -v apt-get > /dev/null; then
    with_apt
elif command -v dnf > /dev/null; then
    with_dnf
else
    fail "there is neither apt-get nor dnf. Use an image that has kubelet and containerd, without the annotation bootstrap.nagaya.dev/install."
fi
check_containerd
if [ "$own_configuration" = false ]; then configure_containerd; fi
systemctl enable containerd kubelet
systemctl restart containerd
