"""
The processes that stand between signoff and a command; the standard library is all they import.

One keeper forks a guardian for each command, and the guardian forks the command.  They run
without site-packages, so that nothing here may import the rest of signoff.
"""

from __future__ import annotations
