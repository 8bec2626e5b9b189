"""Streams of bytes to pods: what a client that asks for `pods/portforward` gets instead of an answer.

Nothing here knows what is behind a port. Whoever sets a server up says so with a `Forwarder`; without one there is no
such subresource.
"""
