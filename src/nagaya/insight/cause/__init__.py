"""Why an object is as it is: the chain from what a person sees to the deepest cause that is known. What `why` tells.

From the bottom: `step` is one link and `cause` a whole chain, `surroundings` all that an explanation may depend on,
`condition` says which of an object's conditions is bad and how much that matters, `aspects` and `leads` which other
objects are to blame for it, `attention`, `deletion` and `task` know three special cases, `remedies` what to do. `leaf`
makes the deepest links, `walk` goes down to them, `joined` puts equal causes together, `explanation` is the whole
answer. `read` alone does I/O.

What always holds: an explanation says only what objects, Leases and Proxmox VE say. Where that ends, it says what was
looked at and where to look next.
"""
