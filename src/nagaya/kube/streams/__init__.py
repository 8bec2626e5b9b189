"""Streams of bytes to pods, through an API server, and what is needed to lay one over another.

`Stream` is what everything here gives and takes: TCP, TLS over any stream, a WebSocket as a stream, a port of a pod.
"""
