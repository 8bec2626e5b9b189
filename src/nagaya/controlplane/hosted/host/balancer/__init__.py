"""What stands in front of several API servers of one tenant: passes connections on, byte for byte.

A program of its own, so that tenants are served while Nagaya is away, and so small that it needs nothing but Python's
own library. TLS goes through it untouched: it has no key, and cannot read what passes.

    python -I -S FOLDER ADDRESS PORT FILE

FOLDER is the one that this file is in (__main__.py). FILE is read again whenever it changes:

    {"backends": [[ADDRESS, PORT], ...], "leaving": [[ADDRESS, PORT], ...], "authority": PATH}

New connections go to an API server that is ready and does not leave, the one with the fewest; those that exist stay
where they are. If none is ready, connections are held for a while instead of being refused.

An API server leaves if FILE says so, or if it says itself at /readyz that it was told to end. Its clients have to go
elsewhere without losing a request. Those that speak HTTP/2 learn it from the API server (GOAWAY). HTTP/1.1 has no such
word, and an API server that ends just closes connections on which nothing happens, maybe in the very moment in which
the client sends its next request. So the balancer ends them before (goodbye.py), each behind an answer: the last bytes
of the answer and the end of the connection are one packet. A client that has not got its whole answer does not send
another request, and one that has got it knows that this connection is over.

How many connections are left is told in FILE.status, so that whoever exchanges API servers can wait for it:

    {"leaving": [[ADDRESS, PORT, CONNECTIONS], ...]}

    client_hello.py  whether a client may speak HTTP/2, from the first thing that it says
    goodbye.py       when a connection can be ended: pure, without sockets
    passage.py       the two connections that belong together
    backend.py       one API server: whether it is ready, whether it leaves
    front.py         all API servers of a tenant, and FILE
    program.py       the program
"""
