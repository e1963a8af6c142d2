"""What keeps a user's function in its worker process. The worker raises the walls after its imports, before a call.

    namespaces  unshare(2): a network without devices, IPC and mounts of its own
    directory   16 MiB of memory for temporary files, which nobody else sees
    limits      rlimits: no core, small files, few descriptors and threads
    files       Landlock: Python's own files may be read, and nothing else opened
    user        another operating-system user where the server is root; no capabilities, no_new_privs
    calls       seccomp: no sockets, processes, signals to others, tracing or mounts

Each is held by the kernel, so that no code in the process can take it down. What a kernel does not have is told: the
server's log says at start which walls the machine has (decision 074).
"""

from risingpy.functions.python.walls.raising import Wall, is_filling, raise_walls

__all__ = ["Wall", "is_filling", "raise_walls"]
