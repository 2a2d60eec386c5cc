"""
The WattSwarm dialect: requests of a kernel, its canonical JSON and hashes, and our replies.

Bytes go in and values come out, or the other way; no module here opens a socket or
a file, or asks for the time.
"""
