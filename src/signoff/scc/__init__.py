"""SCC in a workspace: the registry of OIDs and its validator, the verdict reader, the installation."""
