"""How a machine goes: pods leave, volumes are detached, then host, boot data and Node are deleted, in this order.

`plan` decides the next step from what is seen, `apply` carries steps out until one has to wait, and everything that a
tenant is asked is in `drain`, `volumes` and `node_removal`. What always holds: nothing is deleted before everybody who
asked to be waited for (hooks, pods, volumes) is done or out of time; nothing is forgotten that may still exist; and a
tenant that does not answer delays the deletions of its own machines only.
"""
