"""Runs one command and observes all that others can see of it: output, status, files, and what it leaves behind.

The calling process must be a reaper of its own (become_reaper): whatever the command starts descends from it, also
when it has made itself a daemon, so that nothing left behind is missed.
"""

import collections
import ctypes
import dataclasses
import hashlib
import os
import pathlib
import pickle
import signal
import stat
import subprocess
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWNS, CLONE_NEWPID, MS_REC, MS_PRIVATE = 0x20000, 0x20000000, 0x4000, 0x40000
POLL_S = 0.005
LONGEST_STEP_S = 0.25  # more than this between two looks, and we were not running either
SOON_S = 0.3  # after which what is still there counts as left behind, if natively it is gone
SHOWN = 300  # characters of an output that differs


def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def become_reaper():
    """Orphans of this process's descendants become its children, as those of a session's become init's."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent():
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def in_own_namespace(work):
    """What `work()` returns, run as the first process of a PID namespace of its own: orphans fall to it as they do to
    init, what it leaves behind is gone with it, and no process between is a reaper, which would have to be told of
    copies. Where no namespace can be had it runs here, and this process is the reaper."""
    reading, writing = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(reading)
        try:
            os._exit(enter_namespace_and(work, writing))
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(middle, 0)
    return pickle.loads(answer) if answer else work()


def enter_namespace_and(work, writing):
    die_with_parent()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWPID | CLONE_NEWNS) != 0:
        return 1
    first = os.fork()
    if first == 0:
        die_with_parent()
        libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
        if libc.mount(b"proc", b"/proc", b"proc", 0, None) == 0:
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        os._exit(0)
    os.waitpid(first, 0)
    return 0


class Patience:
    """Time that passes while we run: a machine that is suspended, or a frozen cgroup, makes nothing hang."""

    def __init__(self):
        self.seconds, self.last = 0.0, time.monotonic()

    def passed(self):
        now = time.monotonic()
        self.seconds += min(now - self.last, LONGEST_STEP_S)
        self.last = now
        return self.seconds


@dataclasses.dataclass
class Observed:
    status: int | None = None  # as the shell has it for signals: -N; None: it hung and was killed
    out: bytes = b""
    err: bytes = b""
    files: dict = dataclasses.field(default_factory=dict)  # path -> what it is, with a hash of its contents
    left_soon: list = dataclasses.field(default_factory=list)  # "name (state)", shortly after the command's end
    left: list = dataclasses.field(default_factory=list)  # and when it had time to end
    seconds: float = 0.0


def descendants(root=None):
    """pid -> (name, state) of all that descend from `root`, by default from this process."""
    children = collections.defaultdict(list)
    known = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            text = pathlib.Path(entry.path, "stat").read_text(errors="replace")
        except OSError:
            continue
        name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        known[int(entry.name)] = (name, rest[0])
        children[int(rest[1])].append(int(entry.name))
    found, waiting = {}, [root or os.getpid()]
    while waiting:
        for child in children[waiting.pop()]:
            found[child] = known[child]
            waiting.append(child)
    return found


def reap():
    """Takes the status of every child that has ended: {pid: status}."""
    ended = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def end_all():
    """Kills and reaps every descendant."""
    for _ in range(200):
        reap()
        rest = descendants()
        if not rest:
            return
        for pid in rest:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(POLL_S)


def contents(folder, not_compared=()):
    """What is in a folder: kind, permissions and a hash of each file; only the kind where contents are not compared."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        mode = path.lstat().st_mode
        kind = f"{stat.filemode(mode)}"
        if any(pathlib.PurePath(name).match(pattern) for pattern in not_compared):
            found[name] = kind
        elif stat.S_ISLNK(mode):
            found[name] = f"{kind} -> {os.readlink(path)}"
        elif stat.S_ISREG(mode):
            data = path.read_bytes()
            found[name] = f"{kind} {len(data)} bytes {hashlib.sha256(data).hexdigest()[:16]}"
        else:
            found[name] = kind
    return found


def names_of(processes):
    return sorted(f"{name} ({state})" for name, state in processes.values())


def observe(command, folder, *, environment, limit_s, grace_s, not_compared=(), prepare=None):
    """Runs `command` in folder/scratch, which is made anew, and returns what was Observed. Longer than `limit_s`,
    and it hangs; what it leaves has `grace_s` to end by itself."""
    scratch = folder / "scratch"
    subprocess.run(["rm", "-rf", scratch], check=True)
    scratch.mkdir(parents=True)
    if prepare:
        prepare(scratch)
        reap()
    out, err = folder / "out", folder / "err"
    seen = Observed()
    with open(os.devnull, "rb") as source, open(out, "wb") as out_file, open(err, "wb") as err_file:
        patience = Patience()
        process = subprocess.Popen(command, cwd=scratch, env=environment, stdin=source, stdout=out_file,
                                   stderr=err_file, start_new_session=True)
        while seen.status is None:
            seen.status = reap().get(process.pid)
            seen.seconds = patience.passed()
            if seen.seconds > limit_s:
                seen.left = names_of(descendants())
                break
            time.sleep(POLL_S)
    process.returncode = seen.status if seen.status is not None else -signal.SIGKILL
    if seen.status is not None:
        wait_for_the_rest(seen, grace_s)
    end_all()
    seen.out, seen.err = out.read_bytes(), err.read_bytes()
    seen.files = contents(scratch, not_compared)
    return seen


def wait_for_the_rest(seen, grace_s):
    patience = Patience()
    looked_soon = False
    while True:
        reap()
        rest = descendants()
        passed = patience.passed()
        if not looked_soon and (passed > SOON_S or not rest):
            seen.left_soon = [name for name, _ in rest.values()]
            looked_soon = True
        if not rest:
            return
        if passed > grace_s:
            seen.left = names_of(rest)
            return
        time.sleep(POLL_S)


def shown(data):
    text = data[-SHOWN:].decode(errors="replace").strip()
    return ("..." if len(data) > SHOWN else "") + text.replace("\n", " | ")


def first_difference(native, measured):
    """The first line that differs, of both."""
    ours, theirs = measured.splitlines(), native.splitlines()
    for i in range(max(len(ours), len(theirs))):
        a = theirs[i] if i < len(theirs) else b"(nothing)"
        b = ours[i] if i < len(ours) else b"(nothing)"
        if a != b:
            return f"line {i + 1}: {shown(b)!r}, natively {shown(a)!r}"
    return "line ends"


def described(status):
    if status is None:
        return "did not end"
    return f"died of {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def shell_status(status):
    """A tool passes on a death by signal N as 128+N, as shells do, or dies of it itself."""
    return 128 - status if status is not None and status < 0 else status


def differences(native, measured):
    """What is not as it was natively, in words; empty: nothing."""
    found = []
    if measured.status is None:
        found.append(f"hung for {measured.seconds:.0f} s: {', '.join(measured.left) or 'nothing ran'}")
    elif shell_status(measured.status) != shell_status(native.status):
        found.append(f"{described(measured.status)}, natively {described(native.status)}; it printed: "
                     f"{shown(measured.out) or shown(measured.err)}")
    if measured.out != native.out:
        found.append(f"standard output, {first_difference(native.out, measured.out)}")
    if measured.err != native.err:
        found.append(f"standard error, {first_difference(native.err, measured.err)}")
    for name in sorted(native.files.keys() | measured.files.keys()):
        a, b = native.files.get(name, "missing"), measured.files.get(name, "missing")
        if a != b:
            found.append(f"file {name}: {b}, natively {a}")
    if measured.status is not None:
        more = collections.Counter(measured.left_soon) - collections.Counter(native.left_soon)
        if measured.left != native.left:
            found.append(f"left behind: {', '.join(measured.left) or 'nothing'}, natively "
                         f"{', '.join(native.left) or 'nothing'}")
        elif more:
            found.append(f"still there after {SOON_S} s: {', '.join(sorted(more.elements()))}")
    return found
