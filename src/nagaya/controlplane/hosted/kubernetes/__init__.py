"""A hosted control plane as objects of a management cluster.

Pure: a `Tenancy` in, objects out, to be applied server-side. Two Deployments: API servers, with kine and Konnectivity
beside each, and the controllers, of which one works at a time. They are apart so that an upgrade can go in the order
that Kubernetes demands (`rollout`), and because the controllers hold the key of the certificate authority, and API
servers, which the world can reach, do not. All pods keep to the `restricted` level of Pod Security.
"""
