"""Kill a piece of work at any of its system calls that write, by the kernel's own debugger.

A child is forked and traced; at the call that is asked for it is killed before the kernel takes the
call. So every moment at which something on disk differs is tried, and not those that chance hits.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache

TRACE_ME, CONTINUE_TO_CALL, SET_OPTIONS, CALL_INFO = 0, 24, 0x4200, 0x420E
OPTIONS = 0x1 | 0x8 | 0x100000  # system calls are marked, threads traced, all killed with us
ALL_CHILDREN = 0x40000000
AT_ENTRY = 1
LONGEST_SECONDS = 120
CREATES = 0o100
OPENS = {2: 1, 257: 2}
"""Calls that open, and which of their arguments holds the flags."""
WRITES = {
    1, 18, 20, 40, 74, 75, 76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 258, 263, 264, 265, 266, 268,
    285, 296, 316, 326, 328,
}  # fmt: skip
"""write, pwrite, writev, sendfile, fsync, truncate, rename, mkdir, rmdir, creat, link, unlink,
symlink, chmod and what came of them, as x86-64 numbers them."""


class CallInfo(ctypes.Structure):
    """What the kernel tells of a call: `struct ptrace_syscall_info`."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction", ctypes.c_uint64),
        ("stack", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


@cache
def why_not() -> str | None:
    """Return why nothing can be killed by call here, None if it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "needs Linux on x86-64"
    if run_killed(lambda: None, 1)[0] != "finished":
        return "needs a kernel that lets a process trace its child"
    return None


def run_killed(work: Callable[[], object], at_call: int) -> tuple[str, int]:
    """Do some work in a child that is killed at its n-th call that writes.

    Returns
    -------
    outcome : {"killed", "finished", "failed"}
        Of the child.
    n_calls : int
        That write, as far as it came.
    """
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _child(work)
    try:
        return _follow(child, at_call)
    except OSError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "failed", 0


def _child(work: Callable[[], object]) -> None:
    code = 3
    signal.alarm(LONGEST_SECONDS)
    try:
        _ptrace(TRACE_ME, 0, 0, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        code = 0
    finally:
        os._exit(code)


def _follow(child: int, at_call: int) -> tuple[str, int]:
    os.waitpid(child, 0)
    _ptrace(SET_OPTIONS, child, 0, OPTIONS)
    _ptrace(CONTINUE_TO_CALL, child, 0, 0)
    n_calls = 0
    while True:
        process, status = os.waitpid(-1, ALL_CHILDREN)
        if os.WIFSTOPPED(status):
            stopped = os.WSTOPSIG(status)
            if stopped == signal.SIGTRAP | 0x80 and _writes(process):
                n_calls += 1
                if n_calls == at_call:
                    os.kill(child, signal.SIGKILL)
            passed_on = 0 if stopped & 0x7F in (signal.SIGTRAP, signal.SIGSTOP) else stopped
            _go_on(process, passed_on)
        elif process == child:
            code = os.waitstatus_to_exitcode(status)
            outcome = {0: "finished", -signal.SIGKILL: "killed"}.get(code, "failed")
            return outcome, n_calls


def _go_on(process: int, signal_number: int) -> None:
    with suppress(ProcessLookupError):  # killed a moment ago
        _ptrace(CONTINUE_TO_CALL, process, 0, signal_number)


def _writes(process: int) -> bool:
    """Whether a process stands before a call that writes."""
    info = CallInfo()
    try:
        _ptrace(CALL_INFO, process, ctypes.sizeof(info), ctypes.addressof(info))
    except ProcessLookupError:
        return False
    if info.op != AT_ENTRY:
        return False
    if info.number in OPENS:
        return bool(info.arguments[OPENS[info.number]] & CREATES)
    return info.number in WRITES


def _ptrace(request: int, process: int, address: int, data: int | None) -> None:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    call.restype = ctypes.c_long
    if call(request, process, address or None, data or None) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
