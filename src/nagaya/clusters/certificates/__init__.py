"""The certificate authorities of a cluster and its administrator's kubeconfig, as Secrets beside the Cluster.

Three controllers need the same: kubeadm's configurations, kubeadm's control planes and hosted ones. They see
(`observe`), decide (`plan`, `kubeconfig_plan`) and do (`apply`) it here. What always holds:

- An authority is made at most once. After a control plane has used it, a missing one is an error, because a new one
  would cut off every machine, user and token of the cluster.
- What a user has provided counts and is not changed. What cannot be used is refused with the name of the Secret, of
  the key in it, and a remedy.
- Whoever is first to create a Secret wins; all others take that one.
- Private keys are in no message, log or `repr`, and are made off the event loop.
"""
