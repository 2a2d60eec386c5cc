"""The commands of ``signoff scc oid``."""
