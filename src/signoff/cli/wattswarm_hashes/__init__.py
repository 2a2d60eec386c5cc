"""The commands of ``signoff wattswarm hash``."""
