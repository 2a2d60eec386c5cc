"""SCC in a workspace: registry and validator of OIDs, verdict reader, installation."""
