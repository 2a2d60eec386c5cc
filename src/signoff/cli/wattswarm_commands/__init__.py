"""The commands of ``signoff wattswarm``."""
