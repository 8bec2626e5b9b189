"""An examination of everything that a management API leads to, as `nagaya doctor` tells it.

Each check is a pure function from what was seen to findings: `management` and `controllers` (the API itself, its kinds,
who works for it), `deletions`, `versions`, `certificates`, `addresses` (what objects say), `tenants` (what the tenants'
own APIs say) and `data_centers` (Proxmox VE). `checkup` reads, each subject apart and for a limited time, and puts the
findings together: what cannot be looked at is told as not checked, with the reason, and hides nothing else.
"""
