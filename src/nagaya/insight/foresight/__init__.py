"""What applying manifests would do, before it is done: what `plan` tells.

From the bottom: `change` is what becomes of an object, `rehearsal` asks the server for it by a dry run. `fleet` is a
Cluster with its machines as a value; `workers` and `control_plane` let the controllers' own planners decide for it, and
`rollout` plays that, step by step, until nothing moves any more. `site` is a Proxmox VE as it is now, `landing` puts
the machines of the rollout there one after the other with the provider's own placement, `addresses` counts what they
take of pools. `doubts` are what a person should know beforehand; `repeated`, `unheeded`, `dangling` and `programs` find
some of them in the manifests, in what they name and on this machine. `forecast` is the whole answer. `read` fills in
what is needed.

What always holds: nothing is written. The future is played by the same code that makes it; what is assumed is that
machines come up, one as fast as the other, and that nobody else changes anything meanwhile.
"""
