"""SPDY/3.1 as Kubernetes speaks it: many streams over one connection, for exec, attach and port-forward."""
