"""Formats that travel: SPDY frames, WebSocket frames, protobuf, gRPC's framing, etcd's messages, figures.

Bytes in, values out, and back; no sockets, no clock. Each side of a conversation can be played with what is here, so
that the client, the API server and the simulators speak one dialect. Malformed input always ends in `Malformed`. `bell`
is what both sides wake those with who wait.
"""
