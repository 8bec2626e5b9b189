"""The load balancer in front of several API servers of one tenant: passes connections on, byte for byte.

A program of its own, so that tenants are served while Nagaya is away, and so small that it needs nothing but Python's
own library. TLS goes through it untouched: the balancer has no key, and cannot read what passes.

    python -I -S FOLDER ADDRESS PORT FILE

FOLDER is the one that this file is in (__main__.py). FILE is read again whenever it changes:

    {"generation": N, "backends": [[ADDRESS, PORT], ...], "leaving": [[ADDRESS, PORT], ...],
     "closed": [[ADDRESS, PORT], ...], "authority": PATH}

New connections go to the ready API server with the fewest connections; existing connections stay where they are. If no
API server is ready, connections are held for a while instead of being refused.

An API server that was told to end answers new requests with 503 sooner or later, so no request may reach it by then.
Whoever ends one (leaving.py) therefore goes through two states first, and waits until the balancer has confirmed each
in FILE.status:

    {"observedGeneration": N, "leaving": [[ADDRESS, PORT, CONNECTIONS], ...], "closed": [[ADDRESS, PORT], ...]}

leaving  Other API servers are preferred for new connections. HTTP/1.1 connections are ended (goodbye.py), each behind
         an answer: the last bytes of the answer and the end of the connection are one packet. A client without its
         whole answer does not send another request, and a client with it knows that the connection is over.
         CONNECTIONS is the number of those that are left, without those that are left to the API server (BUSY_LIMIT
         in backend.py).
closed   No new connection, even if no other API server is ready. On HTTP/2 connections the balancer stops reading from
         the client. Answers are passed on. The API server ends HTTP/2 connections itself, with a GOAWAY that names the
         last request that it has read, and clients repeat later ones elsewhere. Without the stop, requests that arrive
         between "answers 503" and the GOAWAY would fail. The balancer enters this state only if no HTTP/1.1 connection
         is left and another API server is ready, or none is ready at all. If the API server does not begin to end
         within CLOSED_LIMIT (backend.py), whoever wanted that is gone, and the balancer goes back to `leaving`.

An API server that somebody else ends says so at /readyz, and goes on serving for a while. The balancer then treats it
like a leaving one, and stops reading from its HTTP/2 clients.

    client_hello.py  whether a client may speak HTTP/2, from the first message that it sends
    goodbye.py       when a connection can be ended: pure, without sockets
    passage.py       a client's connection and its counterpart to an API server
    backend.py       one API server: whether it is ready, leaving, closed
    front.py         all API servers of a tenant, FILE and FILE.status
    program.py       the program
"""
