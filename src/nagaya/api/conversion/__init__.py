"""Manifests of older Cluster API versions, made into those of v1beta2.

Pure: values in, values and findings out. What always holds: an object is either passed through as it is or converted
to exactly one v1beta2 object (with new objects beside it where the old form had content inlined); whatever the result
does not say any more is a finding that names the field and what to do about it; and converting twice changes nothing.

- `v1beta1` moves fields to their new places, kind by kind.
- `v1alpha1` takes the first form apart (group cluster.k8s.io), in which provider settings were inside Machines.
- `fit` then compares the result with our schemas: no field is lost unnoticed.
"""
