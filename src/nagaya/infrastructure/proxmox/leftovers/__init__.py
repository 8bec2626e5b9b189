"""What machines of this management API have left in Proxmox VE: found, judged, and removed if it is provably ours.

The proof is the reservation of the VMID. It is made in this management API before anything is cloned, names the data
center, the VMID, the machine's uid, the VM's name and its pool, and outlives its machine until the VM is known to be
gone. A VM that has a marker and no reservation here may be that of another management API, so it is never ours; nor is
one whose reservation was carried here by a move. `seen` is what is looked at, `provenance` tells where reservations are
from, `observe` looks, `plan` judges (pure), `apply` removes, with another look right before each call.
"""
