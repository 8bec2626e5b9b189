"""Certificate authorities, leaf certificates and kubeconfigs.

Everything here is plain, synchronous and free of shared state, so it may run in any thread. Generating an RSA key takes
up to seconds: whoever owns an event loop calls `keys.generate` from a worker thread. Dates come from the clock that is
handed in; keys and serial numbers come from the operating system, never from an injected random source. Nothing is
imported here, since `cryptography` costs tens of milliseconds that commands without certificates should not pay.
"""
