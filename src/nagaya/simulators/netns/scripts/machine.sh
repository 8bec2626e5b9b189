#!/bin/sh
# The first process of a machine. It starts in namespaces of its own (mount, net, pid, uts, ipc, cgroup), gives the
# machine its root, says "up", and from then on only collects what others leave behind. When it ends, all ends.
#
# In: MACHINE_FOLDER (log/ and root.d/ with files to copy in), MACHINE_NAME, MACHINE_CGROUPS (version 1: lines of
# "mount options", empty for version 2), MACHINE_PROGRAMS (programs that the machine has, a path per line),
# MACHINE_PACKAGES (a folder with unpacked packages, for what the host lacks; may be empty).
set -eu

fs=$MACHINE_FOLDER/fs
root=$fs/root
mkdir -p "$fs"
mount -t tmpfs -o mode=755 machine "$fs"
mkdir "$fs/upper" "$fs/work" "$fs/state" "$fs/fake" "$root"
mount -t overlay machine -o "lowerdir=/,upperdir=$fs/upper,workdir=$fs/work" "$root"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mkdir -p "$root/run/lock"

# What a host may have of its own life as a node is none of the machine's business; and containers cannot be unpacked
# onto an overlay.
for path in etc/kubernetes etc/cni etc/containerd var/lib/kubelet var/lib/containerd var/lib/cni var/lib/cloud \
    var/log/pods var/log/containers var/log/nagaya; do
    mkdir -p "$fs/state/$path" "$root/$path"
    mount --bind "$fs/state/$path" "$root/$path"
done
mount --bind "$MACHINE_FOLDER/log" "$root/var/log/nagaya"

# Settings of the whole kernel that kubelets insist on: they find them as they like them, and leave the host alone.
while read -r setting value; do
    if [ -e "$root/proc/sys/$setting" ]; then
        fake=$fs/fake/$(echo "$setting" | tr / -)
        echo "$value" > "$fake"
        mount --bind "$fake" "$root/proc/sys/$setting"
    fi
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
kernel/random/boot_id $(cat /proc/sys/kernel/random/uuid)
END

if [ -n "$MACHINE_CGROUPS" ]; then
    mount -t tmpfs -o mode=755 cgroups "$root/sys/fs/cgroup"
    echo "$MACHINE_CGROUPS" | while read -r folder options; do
        mkdir "$root/sys/fs/cgroup/$folder"
        mount -t cgroup -o "$options" cgroup "$root/sys/fs/cgroup/$folder"
    done
else
    mount -t cgroup2 cgroup "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/init"
    echo 1 > "$root/sys/fs/cgroup/init/cgroup.procs"
fi

rm -f "$root/etc/resolv.conf" "$root/etc/machine-id" "$root/etc/hosts"
cp -a "$MACHINE_FOLDER/root.d/." "$root/"
echo "$MACHINE_PROGRAMS" | while read -r program; do
    [ -n "$program" ] || continue
    : > "$root/usr/local/bin/${program##*/}"
    mount --bind "$program" "$root/usr/local/bin/${program##*/}"
done

packages=/opt/packages
if [ -n "$MACHINE_PACKAGES" ]; then
    mkdir -p "$root$packages"
    mount --bind "$MACHINE_PACKAGES" "$root$packages"
fi

cd "$root"
mkdir -p .host
pivot_root . .host
umount -l /.host
rmdir /.host
# Volumes that a kubelet mounts must be seen by the containers that run already.
mount --make-rshared /
if [ -n "$MACHINE_PACKAGES" ]; then
    # An overlay would not have it: the packages may be in a folder of the host's root, which is a layer already.
    cp --recursive --symbolic-link --no-clobber "$packages/usr/." /usr/
fi
hostname "$MACHINE_NAME"
echo 1 > /proc/sys/net/ipv4/ip_forward

echo up
exec < /dev/null > /dev/null 2>&1
while :; do
    sleep 3600 &
    wait $!
done
