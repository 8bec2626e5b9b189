"""KubeadmControlPlanes: the machines that run a tenant's API and its etcd, made, replaced and healed one at a time.

`seen` is what there is, `health` what that means, `plan` what to do about it, `apply` does it and `status` tells. What
happens inside a tenant goes through `workload_port`, certificates through `certificates_port`.
"""
