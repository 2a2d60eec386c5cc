"""
What changed in a repository, read without running anything that the repository configures.

The program git is only ever handed a folder of our own as its repository: our
configuration, no hooks, no index, no references.  From the judged repository it is
given the objects, and each of them is hashed again here.  References, index and
files are read by us.
"""
