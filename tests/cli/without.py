#!/usr/bin/env python3
"""Runs a command whose system calls are refused as a container's filter refuses them.

    without.py CALL[,CALL...] COMMAND...        CALL: perf_event_open or ptrace; each fails with EPERM
"""
import ctypes
import os
import platform
import struct
import sys

NUMBERS = {"x86_64": {"perf_event_open": 298, "ptrace": 101}, "aarch64": {"perf_event_open": 241, "ptrace": 117}}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_NUMBER, IS_EQUAL, RETURN = 0x20, 0x15, 0x06
EPERM_INSTEAD, ALLOW = 0x00050001, 0x7FFF0000


def refuse(calls):
    program = [(LOAD_NUMBER, 0, 0, 0)]
    for call in calls:
        program += [(IS_EQUAL, 0, 1, NUMBERS[platform.machine()][call]), (RETURN, 0, 0, EPERM_INSTEAD)]
    program.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    whole = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(whole), 0, 0):
        sys.exit(f"without.py: no filter can be set here: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    refuse(sys.argv[1].split(","))
    # In a build with sanitizers the search for leaks traces the program, and would fail instead of it.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    os.execvp(sys.argv[2], sys.argv[2:])
