"""
The SCC dialect: contracts, commands, records and verdicts of executor/verifier interfaces v0.1.0.

Texts go in and values come out, or the other way; no module here opens a file,
starts a program or asks for the time.
"""
