"""The calls that the kernel refuses to a worker (EPERM), as a program of seccomp(2).

A list of what is refused, and not of what is allowed: users' functions import libraries, whose calls nobody knows, and
files are Landlock's. Refused is what reaches out of the process. Threads may begin; processes may not. A signal may go
to the process itself only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

from risingpy.functions.python.walls.kernel import MACHINES, call

# name, number on x86_64, on aarch64 (-: it has no such call)
_REFUSED = """
socket 41 198, connect 42 203, accept 43 202, accept4 288 242, bind 49 200, listen 50 201,
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281,
tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
pidfd_send_signal 424 424, pidfd_open 434 434, pidfd_getfd 438 438,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, kcmp 312 272,
perf_event_open 298 241, bpf 321 280, userfaultfd 323 282,
io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427,
unshare 272 97, setns 308 268, chroot 161 51, pivot_root 155 41, mount 165 40, umount2 166 39, open_tree 428 428,
move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
name_to_handle_at 303 264, open_by_handle_at 304 265, mknod 133 -, mknodat 259 33,
chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, lchown 94 -, fchown 93 55, fchownat 260 54,
utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88,
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
memfd_create 319 279, memfd_secret 447 447, shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semctl 66 191,
semop 65 193, semtimedop 220 192, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_open 240 180,
mq_unlink 241 181, add_key 248 217, request_key 249 218, keyctl 250 219,
init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294,
reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89, quotactl 179 60, syslog 103 116, vhangup 153 58,
settimeofday 164 170, adjtimex 159 171, clock_settime 227 112, clock_adjtime 305 266, sethostname 170 161,
setdomainname 171 162, iopl 172 -, ioperm 173 -, personality 135 92, move_pages 279 239, migrate_pages 256 238,
setpriority 141 140, sched_setscheduler 144 119, sched_setattr 314 274, ioprio_set 251 30
"""
_CLONE, _CLONE3, _KILL, _TGKILL = (56, 220), (435, 435), (62, 129), (234, 131)
_CLONE_THREAD = 0x10000
_ARCHITECTURES = (0xC000003E, 0xC00000B7)  # AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64
_X32 = 0x40000000  # x86_64 has a second set of numbers from here on

_LOAD, _JUMP_EQUAL, _JUMP_LESS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16  # in struct seccomp_data
_ALLOW, _KILL_PROCESS, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_SET_MODE_FILTER, _SPEC_ALLOW = 1, 4  # without the latter, older kernels make the whole process slower


def refuse_calls() -> None:
    """From now on the kernel refuses these calls to the process. Raises OSError if it has no seccomp."""
    program = _program(MACHINES.index(platform.machine())) if platform.machine() in MACHINES else b""
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    call("seccomp", _SET_MODE_FILTER, _SPEC_ALLOW, header)


def _program(machine: int) -> bytes:
    """Instructions of BPF. A jump skips `no` of them if its comparison is false, `yes` if it is true."""
    steps = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_JUMP_EQUAL, _ARCHITECTURES[machine], yes=1),
        _step(_RETURN, _KILL_PROCESS),  # of the same kernel, by another gate: 32-bit calls
        _step(_LOAD, _NUMBER_AT),
        _step(_JUMP_LESS, _X32, no=1),
        _step(_RETURN, _ERROR | errno.EPERM),
    ]
    for entry in _REFUSED.replace("\n", " ").split(","):
        number = entry.split()[1 + machine]
        if number != "-":
            steps += (_step(_JUMP_EQUAL, int(number), no=1), _step(_RETURN, _ERROR | errno.EPERM))
    # The flags of clone3 are in memory, where no filter looks: the C library takes clone if there is none.
    steps += (_step(_JUMP_EQUAL, _CLONE3[machine], no=1), _step(_RETURN, _ERROR | errno.ENOSYS))
    for numbers in (_KILL, _TGKILL):
        steps += (
            _step(_JUMP_EQUAL, numbers[machine], no=4),
            _step(_LOAD, _FIRST_ARGUMENT_AT),
            _step(_JUMP_EQUAL, os.getpid(), no=1),
            _step(_RETURN, _ALLOW),
            _step(_RETURN, _ERROR | errno.EPERM),
        )
    steps += (
        _step(_JUMP_EQUAL, _CLONE[machine], no=5),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_AND, _CLONE_THREAD),
        _step(_JUMP_EQUAL, 0, no=1),
        _step(_RETURN, _ERROR | errno.EPERM),
        _step(_RETURN, _ALLOW),
    )
    return b"".join((*steps, _step(_RETURN, _ALLOW)))


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
