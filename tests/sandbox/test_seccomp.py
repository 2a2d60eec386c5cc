"""The filter for system calls, run by a small machine of our own for each architecture."""

from __future__ import annotations

import errno
import struct

import pytest

from signoff.sandbox.seccomp import ARCHITECTURES, NUMBERS, program

ALLOWED = 0x7FFF_0000
KILLED = 0x8000_0000
MACHINES = tuple(ARCHITECTURES)


def refused(code: int) -> int:
    return 0x0005_0000 | code


def judge(filtering: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What a filter returns for a call, as the kernel would run it."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *padded)
    steps = [*struct.iter_unpack("=HBBI", filtering)]
    register, at = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                register = struct.unpack_from("=I", data, value)[0]
            case 0x06:
                return int(value)
            case 0x15 | 0x35 | 0x45:
                holds = {
                    0x15: register == value,
                    0x35: register >= value,
                    0x45: register & value,
                }[code]
                at += if_true if holds else if_false
            case _:
                raise AssertionError(f"step {at - 1} is {code:#x}")


class Filter:
    """A filter of an architecture, asked by the names of calls."""

    def __init__(self, machine: str, **chosen: bool) -> None:
        given = {"sockets": False, "debugging": False, "others": False} | chosen
        found = program(machine=machine, **given)
        assert found is not None
        self.data = found
        self.machine = machine

    def __call__(self, name: str, *arguments: int) -> int:
        number = NUMBERS[name][MACHINES.index(self.machine)]
        assert number is not None
        return judge(self.data, ARCHITECTURES[self.machine], number, *arguments)


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    """Each architecture."""
    return str(request.param)


def test_what_is_not_named_is_allowed(machine: str) -> None:
    named = {numbers[MACHINES.index(machine)] for numbers in NUMBERS.values()}
    one = Filter(machine)

    assert {ALLOWED} == {
        judge(one.data, ARCHITECTURES[machine], number)
        for number in range(500)
        if number not in named
    }


@pytest.mark.parametrize("name", ["mount", "unshare", "setns", "bpf", "keyctl", "io_uring_setup"])
def test_ways_out_are_refused(machine: str, name: str) -> None:
    assert refused(errno.EPERM) == Filter(machine, sockets=True, debugging=True, others=True)(name)


def test_programs_of_another_architecture_end() -> None:
    one = Filter("x86_64")

    assert KILLED == judge(one.data, 0x4000_0003, 1)
    assert KILLED == judge(one.data, ARCHITECTURES["aarch64"], 1)


def test_foreign_numbers_of_the_same_architecture_are_refused() -> None:
    one = Filter("x86_64")

    assert refused(errno.ENOSYS) == judge(one.data, ARCHITECTURES["x86_64"], 0x4000_0000 | 41, 2)


def test_clone_makes_threads_and_no_namespaces(machine: str) -> None:
    one = Filter(machine)

    assert ALLOWED == one("clone", 0x3D0F00)
    assert ALLOWED == one("clone", 17)
    assert refused(errno.ENOSYS) == one("clone3", 0)
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert refused(errno.EPERM) == one("clone", 17 | 1 << bit)


def test_sockets_of_the_internet_are_opened_where_asked_for(machine: str) -> None:
    families = {1: ALLOWED, 2: refused(errno.EACCES), 10: refused(errno.EACCES)}
    for family, answer in families.items():
        assert answer == Filter(machine)("socket", family)
        assert ALLOWED == Filter(machine, sockets=True)("socket", family)
    for family in (17, 38, 40):
        assert refused(errno.EACCES) == Filter(machine, sockets=True)("socket", family)


def test_upper_half_of_an_argument_hides_nothing(machine: str) -> None:
    one = Filter(machine)

    assert refused(errno.EACCES) == one("socket", 1 << 32 | 2)
    assert refused(errno.EPERM) == one("ioctl", 0, 1 << 32 | 0x5412)
    assert refused(errno.EPERM) == one("clone", 1 << 32 | 0x1000_0000)


def test_terminals_are_not_typed_into(machine: str) -> None:
    one = Filter(machine)

    assert {refused(errno.EPERM)} == {one("ioctl", 0, 0x5412), one("ioctl", 1, 0x541C)}
    assert ALLOWED == one("ioctl", 0, 0x5401)


@pytest.mark.parametrize("name", ["ptrace", "process_vm_readv", "pidfd_getfd"])
def test_debugging_is_a_choice(machine: str, name: str) -> None:
    assert refused(errno.EPERM) == Filter(machine)(name)
    assert ALLOWED == Filter(machine, debugging=True)(name)


def test_limits_of_others_are_a_choice(machine: str) -> None:
    assert refused(errno.EPERM) == Filter(machine)("prlimit64", 7)
    assert ALLOWED == Filter(machine)("prlimit64", 0)
    assert ALLOWED == Filter(machine, others=True)("prlimit64", 7)


def test_other_machines_have_no_filter() -> None:
    assert None is program(sockets=False, debugging=False, others=False, machine="riscv64")
