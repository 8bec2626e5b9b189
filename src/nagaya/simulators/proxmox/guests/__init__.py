"""What happens inside machines once they run: who boots, takes addresses, and answers through the guest agent.

What a machine is stays the business of `qemu`; what it does is up to a backend, of which the passive one here only
pretends. Others can run a simulated or a real system in its place.
"""
