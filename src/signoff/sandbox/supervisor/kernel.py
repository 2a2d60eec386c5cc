"""Calls of the Linux kernel that Python has no names for."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import Final

__all__ = [
    "CLONE_NEWNS",
    "CLONE_NEWUSER",
    "MS_BIND",
    "MS_NODEV",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_REC",
    "drop_capabilities",
    "filter_calls",
    "keep_privileges_fixed",
    "landlock_allow",
    "landlock_restrict",
    "landlock_ruleset",
    "landlock_version",
    "mount",
    "unmount",
    "unshare",
]

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWUSER: Final = 0x1000_0000
MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_BIND: Final = 0x1000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x4_0000
MNT_DETACH: Final = 0x2

PR_SET_NO_NEW_PRIVS: Final = 38
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
SECCOMP_MODE_FILTER: Final = 2
CAPABILITY_VERSION: Final = 0x2008_0522
LAST_CAPABILITY: Final = 63
FILTER_STEP_BYTES: Final = 8

# one number on every architecture but Alpha
LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446
LANDLOCK_RULE_PATH_BENEATH: Final = 1
LANDLOCK_CREATE_RULESET_VERSION: Final = 1


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """This process has namespaces of its own from here on."""
    _checked(_libc().unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """As ``mount(2)``; empty texts stand for null pointers."""
    done = _libc().mount(
        os.fsencode(source) or None,
        os.fsencode(target),
        os.fsencode(kind) or None,
        ctypes.c_ulong(flags),
        os.fsencode(options) or None,
    )
    _checked(done, f"mount {kind or target}")


def unmount(target: str) -> None:
    """Takes a mount away, at once for new users and in the end for those there are."""
    _checked(_libc().umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)), "umount")


def keep_privileges_fixed() -> None:
    """No program that is started from here on gains privileges by being started."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")


def drop_capabilities() -> None:
    """This process, and what it starts, has none of root's privileges."""
    for capability in range(LAST_CAPABILITY + 1):
        if _libc().prctl(PR_CAPBSET_DROP, _long(capability), _long(0), _long(0), _long(0)):
            break  # it has no such capability, or may not drop any, because it has none
    _libc().prctl(PR_CAP_AMBIENT, _long(PR_CAP_AMBIENT_CLEAR_ALL), _long(0), _long(0), _long(0))
    header = _CapabilityHeader(CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    _checked(_libc().capset(ctypes.byref(header), ctypes.byref(none)), "capset")


def filter_calls(program: bytes) -> None:
    """System calls are judged by a BPF program from here on."""
    steps = _Filter(len(program) // FILTER_STEP_BYTES, program)
    done = _libc().prctl(
        PR_SET_SECCOMP, _long(SECCOMP_MODE_FILTER), ctypes.byref(steps), _long(0), _long(0)
    )
    _checked(done, "seccomp")


def landlock_version() -> int:
    """Version of the interface of Landlock; 0 where the kernel has none or does not use it."""
    version: int = _libc().syscall(
        _long(LANDLOCK_CREATE_RULESET), None, _long(0), _long(LANDLOCK_CREATE_RULESET_VERSION)
    )
    return max(version, 0)


def landlock_ruleset(files: int, net: int, scoped: int, size: int) -> int:
    """A handle of a new ruleset that takes away these rights; ``size`` follows from the version."""
    ruleset = _Ruleset(files, net, scoped)
    handle: int = _libc().syscall(
        _long(LANDLOCK_CREATE_RULESET), ctypes.byref(ruleset), ctypes.c_size_t(size), _long(0)
    )
    _checked(min(handle, 0), "landlock_create_ruleset")
    return handle


def landlock_allow(ruleset: int, path: int, rights: int) -> None:
    """Gives rights back, beneath the folder of a handle, or to its file."""
    rule = _PathBeneath(rights, path)
    done = _libc().syscall(
        _long(LANDLOCK_ADD_RULE),
        _long(ruleset),
        _long(LANDLOCK_RULE_PATH_BENEATH),
        ctypes.byref(rule),
        _long(0),
    )
    _checked(done, "landlock_add_rule")


def landlock_restrict(ruleset: int) -> None:
    """The ruleset holds for this process from here on, and for all that it starts."""
    done = _libc().syscall(_long(LANDLOCK_RESTRICT_SELF), _long(ruleset), _long(0))
    _checked(done, "landlock_restrict_self")


def _prctl(option: int, value: int, what: str) -> None:
    _checked(_libc().prctl(option, _long(value), _long(0), _long(0), _long(0)), what)


def _long(value: int) -> ctypes.c_long:
    return ctypes.c_long(value)


def _checked(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
