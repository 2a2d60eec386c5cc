"""
A filter for system calls, as the kernel's seccomp takes it: classic BPF, for two architectures.

It refuses ways out of a sandbox and into parts of the kernel that programs under test have no
need of.  What it does not name is allowed: namespaces, Landlock and permissions judge the rest.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from typing import Final

__all__ = ["program"]

ARCHITECTURES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
# Numbers of each call: x86_64, aarch64; from the kernel's unistd_64.h and asm-generic/unistd.h.
NUMBERS: Final = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
# These look at arguments.
JUDGED: Final = ("clone", "clone3", "ioctl", "prlimit64", "socket")
# These reach into other processes, which is fine where no other process can be seen.
DEBUGGING: Final = ("kcmp", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "ptrace")

NAMESPACES: Final = 0x7E02_0000  # CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET
TIOCSTI: Final = 0x5412  # types for the person at the terminal
TIOCLINUX: Final = 0x541C  # pastes likewise
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
ALLOW, REFUSE, KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
FOREIGN_NUMBERS: Final = 0x4000_0000  # x32 on x86_64

_Step = tuple[int, int, int, int]


def program(
    *, sockets: bool, debugging: bool, others: bool, machine: str | None = None
) -> bytes | None:
    """
    The filter as an array of ``struct sock_filter``; None for an architecture it is not made for.

    Args:
        sockets: Sockets of the internet may be opened; else only those of one machine.
        debugging: A process may trace another.
        others: Limits of other processes may be set, where there are none but its own.
        machine: As ``os.uname`` spells it; None for this one.
    """
    machine = machine or os.uname().machine
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    steps = _prologue(machine)
    for name, numbers in NUMBERS.items():
        refused = name not in JUDGED and not (debugging and name in DEBUGGING)
        if refused and (number := numbers[column]) is not None:
            steps += [(EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    steps += _judged(column, sockets=sockets, others=others)
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _prologue(machine: str) -> list[_Step]:
    """Programs of another architecture have other numbers: they end at once."""
    steps = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [(AT_LEAST, 0, 1, FOREIGN_NUMBERS), _refuse(errno.ENOSYS)]
    return steps


def _judged(column: int, *, sockets: bool, others: bool) -> list[_Step]:
    # clone3 takes its flags by pointer, where no filter can look: libraries fall back to clone
    steps = [(EQUAL, 0, 1, _number("clone3", column)), _refuse(errno.ENOSYS)]
    steps += _rule("clone", column, 0, [(ANY_BIT, 0, 1, NAMESPACES), _refuse(errno.EPERM)])
    steps += _rule("ioctl", column, 1, _none_of((TIOCSTI, TIOCLINUX)))
    families = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK) if sockets else (AF_UNIX,)
    steps += _rule("socket", column, 0, _one_of(families))
    if not others:
        own = [(EQUAL, 1, 0, 0), _refuse(errno.EPERM)]
        steps += _rule("prlimit64", column, 0, own)
    return steps


def _rule(name: str, column: int, argument: int, judged: list[_Step]) -> list[_Step]:
    """Steps that judge one argument of one call; they end in allowing it."""
    body = [(LOAD, 0, 0, ARGUMENTS_AT + 8 * argument), *judged, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(body), _number(name, column)), *body]


def _none_of(values: Iterable[int]) -> list[_Step]:
    return [step for value in values for step in ((EQUAL, 0, 1, value), _refuse(errno.EPERM))]


def _one_of(values: Iterable[int]) -> list[_Step]:
    allowed = [step for value in values for step in ((EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW))]
    return [*allowed, _refuse(errno.EACCES)]


def _number(name: str, column: int) -> int:
    number = NUMBERS[name][column]
    assert number is not None
    return number


def _refuse(code: int) -> _Step:
    return RETURN, 0, 0, REFUSE | code
