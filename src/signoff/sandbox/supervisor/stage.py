"""A mount namespace of the guardian's own, in which what a command writes lies in memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from signoff.sandbox.supervisor import kernel

__all__ = ["Stage", "can_be_lower"]

PRIVATE: Final = kernel.MS_NOSUID | kernel.MS_NODEV
MAX_FILES: Final = 1_000_000
MAX_LOOKED_AT: Final = 200_000
NAME: Final = "signoff"


class Stage:
    """
    A limited file system in memory over a folder, and a workspace under an overlay of it.

    Nobody outside of this process and its children sees it, and it is gone with them.

    Args:
        folder: Folder that it covers.
        size: Bytes that it may hold; never more than half of the memory of the machine.
    """

    def __init__(self, folder: str, size: int) -> None:
        self.folder = folder
        self.handle: int | None = None
        """Of the workspace under the overlay, if one was laid."""
        self.is_covering = False
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.size = max(min(size, memory // 2), 2**20)

    def enter(self, folders: Iterable[str]) -> None:
        """Enters the namespace, covers the folder, and makes folders in it anew."""
        _unshare()
        kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE, "")
        options = f"size={self.size},nr_inodes={MAX_FILES},mode=0700"
        kernel.mount(NAME, self.folder, "tmpfs", PRIVATE, options)
        self.is_covering = True
        for path in folders:
            os.mkdir(path, 0o700)

    def lay_over(self, workspace: str) -> str | None:
        """Where the workspace is found with nothing written to it; None where that fails."""
        upper, work, merged = (f"{self.folder}/{name}" for name in ("upper", "work", "workspace"))
        for path in (upper, work, merged):
            os.mkdir(path, 0o700)
        os.chmod(upper, os.stat(workspace).st_mode & 0o777)
        lower = os.open(workspace, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # by its handle: a name could hold what separates options
            options = f"lowerdir=/proc/self/fd/{lower},upperdir={upper},workdir={work}"
            _mount_overlay(merged, options)
        except OSError:
            os.rmdir(merged)
            return None
        finally:
            os.close(lower)
        self.handle = os.open(merged, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return merged

    def leave(self) -> None:
        """Uncovers the folder, for what is not to lie in memory."""
        kernel.unmount(self.folder)
        self.is_covering = False

    @property
    def is_full(self) -> bool:
        """True when nothing more can be written."""
        if not self.is_covering:
            return False
        state = os.statvfs(self.folder)
        return state.f_bavail == 0 or state.f_favail == 0


def _unshare() -> None:
    """Enters a mount namespace; in a user namespace where root's privileges are lacking."""
    try:
        kernel.unshare(kernel.CLONE_NEWNS)
    except PermissionError:
        user, group = os.getuid(), os.getgid()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")


def _write(path: str, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _mount_overlay(merged: str, options: str) -> None:
    """Mounts; folders can be renamed where the privileges for it are there."""
    for more in (",redirect_dir=on", ",userxattr"):
        try:
            kernel.mount(NAME, merged, "overlay", PRIVATE, options + more)
        except OSError:
            if more == ",userxattr":
                raise
        else:
            return


def can_be_lower(workspace: str) -> bool:
    """
    Its files are this user's, and no other file system is mounted in it.

    Files of others could be read, but not written, by a command that may write a copy of them.
    To be asked before a user namespace is entered, in which all others look like nobody.
    """
    user, group = os.getuid(), os.getgid()
    try:
        about = os.stat(workspace)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != user or _has_mounts(workspace):
            return False
        return user == 0 or _belongs_to(workspace, user, group)
    except OSError:
        return False  # copying it will say what is wrong with it


def _belongs_to(top: str, user: int, group: int) -> bool:
    folders, looked_at = [top], 0
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                looked_at += 1
                if (about.st_uid, about.st_gid) != (user, group) or looked_at > MAX_LOOKED_AT:
                    return False
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return True


def _has_mounts(workspace: str) -> bool:
    inside = workspace.rstrip("/") + "/"
    with open("/proc/self/mountinfo", "rb") as mounts:
        # spaces, tabs, newlines and backslashes are written as octal numbers
        names = (line.split()[4].decode("unicode_escape").encode("latin-1") for line in mounts)
        return any(os.fsdecode(name).startswith(inside) for name in names)
