"""The commands of ``signoff scc``."""
