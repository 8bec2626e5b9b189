"""What a hosted control plane's API must hold before a machine can join it, and the loop that keeps it so.

A control plane that `kubeadm init` makes has this from its last phases. Ours are made without kubeadm, so the same
objects are rendered here (pure functions of `TenantSetup`) and applied to the tenant (`Keeper`).
"""
