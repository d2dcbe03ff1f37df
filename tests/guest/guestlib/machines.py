"""The machines: QEMU command lines, booting, and what comes back."""
import shutil
import subprocess
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from guestlib import images

OUT_DISK_MB = 64
BOOT_LIMIT_S = 900  # a busy host is slow, not wrong


def x86(vendor, family, model, stepping):
    """An x86-64 processor that software takes for the given one; the emulator offers everything it can."""
    return f"max,vendor={vendor},family={family},model={model},stepping={stepping}"


@dataclass(frozen=True)
class Machine:
    """One emulated computer. `smp` and `append` go to QEMU's -smp and to the kernel's command line,
    `more` to QEMU's own."""
    arch: str
    cpu: str
    smp: str = "1"
    append: str = ""
    memory_mb: int = 1024
    more: tuple = ()


# Guest time advances with guest instructions, so a busy host disturbs nothing and idle time passes at once. Not with two
# x86 CPUs: they wait for each other's interrupts at boot while neither's time advances. These take turns in one thread
# of the host: with a thread each, the emulator may keep running a breakpoint that the kernel has removed again (its
# static keys are patched at the first perf_event_open), and every CPU that meets it hangs.
CLOCK = ("-icount", "shift=1,sleep=off", "-seed", "1", "-rtc", "base=2024-01-01,clock=vm")
ONE_CPU = ("-accel", "tcg,tb-size=256", *CLOCK)
MORE_CPUS = ("-accel", "tcg,tb-size=256,thread=single")
# A machine that hangs ends at once, with its console as the reason.
HANGS = "watchdog_thresh=60 softlockup_panic=1"

MACHINES = {
    "cascadelake": Machine("amd64", x86("GenuineIntel", 6, 85, 7)),
    "cascadelake-smt": Machine("amd64", x86("GenuineIntel", 6, 85, 7), smp="4,sockets=1,cores=2,threads=2"),
    "icelake": Machine("amd64", x86("GenuineIntel", 6, 106, 6)),
    "sapphirerapids": Machine("amd64", x86("GenuineIntel", 6, 143, 8)),
    "graniterapids": Machine("amd64", x86("GenuineIntel", 6, 173, 1)),
    "alderlake": Machine("amd64", x86("GenuineIntel", 6, 151, 2), smp="2"),
    "meteorlake": Machine("amd64", x86("GenuineIntel", 6, 170, 4), smp="2"),
    "clearwaterforest": Machine("amd64", x86("GenuineIntel", 6, 221, 0)),
    "unknown-intel": Machine("amd64", x86("GenuineIntel", 6, 240, 0)),  # of which no table knows anything
    "zen3": Machine("amd64", x86("AuthenticAMD", 25, 1, 1)),
    "zen4": Machine("amd64", x86("AuthenticAMD", 25, 97, 2)),
    # Two packages of two cores of two threads, a NUMA node of 2 GiB each: room for a page of 1 GiB in the second.
    "eight-cpus": Machine("amd64", x86("GenuineIntel", 6, 85, 7), smp="8,sockets=2,cores=2,threads=2", memory_mb=4096,
                          append="hugepagesz=1G hugepages=1",
                          more=("-object", "memory-backend-ram,id=m0,size=2048M",
                                "-object", "memory-backend-ram,id=m1,size=2048M",
                                "-numa", "node,nodeid=0,cpus=0-3,memdev=m0", "-numa", "node,nodeid=1,cpus=4-7,memdev=m1",
                                "-numa", "dist,src=0,dst=1,val=21")),
    "zen4-two": Machine("amd64", x86("AuthenticAMD", 25, 97, 2), smp="2"),
    # The real armv8_pmuv3 driver on the emulator's own PMU; instructions count because of -icount.
    "arm-n1": Machine("arm64", "neoverse-n1"),
    "arm-n1-no-pmu": Machine("arm64", "neoverse-n1,pmu=off"),
    "arm-n2-known": Machine("arm64", "neoverse-n1,pmu=off,midr=0x410fd490"),
    "arm-hip08-known": Machine("arm64", "neoverse-n1,pmu=off,midr=0x480fd010"),
}


@dataclass
class Boot:
    """What one boot left: files by their path under /out, the console's text, how long it took."""
    files: dict = field(default_factory=dict)
    console: str = ""
    seconds: float = 0
    timed_out: bool = False


def command_line(machine, kernel, initramfs, disks, console):
    """QEMU's arguments. disks: root, tool, out."""
    if machine.arch == "amd64":
        words = ["qemu-system-x86_64", "-M", "q35"]
        device, tty = "virtio-blk-pci", "ttyS0"
        timer = "no_timer_check "  # at boot, whether interrupts come soon enough: on a busy host they do not
    else:
        words = ["qemu-system-aarch64", "-M", "virt"]
        device, tty = "virtio-blk-device", "ttyAMA0"
        timer = ""
    words += ONE_CPU if machine.smp == "1" else MORE_CPUS
    words += ["-cpu", machine.cpu, "-m", str(machine.memory_mb), "-smp", machine.smp, *machine.more,
              "-nodefaults", "-no-reboot",
              "-display", "none", "-serial", f"file:{console}", "-nic", "none", "-kernel", str(kernel),
              "-initrd", str(initramfs), "-append",
              f"console={tty} quiet {timer}panic=-1 tsc=reliable nokaslr norandmaps hugepages=8 {HANGS} {machine.append}".strip()]
    for number, (disk, access) in enumerate(zip(disks, ("on", "on", "off"))):
        # The virtual board numbers memory-mapped disks from the last one; give them in that order.
        words += ["-drive", f"if=none,id=d{number},file={disk},format=raw,readonly={access},file.locking=off"]
    order = range(3) if machine.arch == "amd64" else reversed(range(3))
    for number in order:
        words += ["-device", f"{device},drive=d{number}"]
    return words


def boot(machine, build, tool_image, script, keep=None):
    """Boots the machine, runs the script in it as root, and returns what it wrote under /out."""
    folder = Path(tempfile.mkdtemp(prefix="boot-", dir=build))
    try:
        kernel, _ = images.kernel(machine.arch)
        tree = folder / "tree"
        tree.mkdir()
        (tree / "guest.sh").write_text(script)
        initramfs = folder / "initramfs"
        base = images.build_initramfs(machine.arch, build).read_bytes()
        initramfs.write_bytes(base + b"\0" * (-len(base) % 4) + images.cpio(tree))
        out = folder / "out.img"
        with open(out, "wb") as disk:
            disk.truncate(OUT_DISK_MB << 20)
        console = folder / "console"
        disks = (images.build_root(machine.arch, build), tool_image, out)
        result = Boot()
        started = time.monotonic()
        with open(folder / "qemu.log", "wb") as log:
            try:
                subprocess.run(command_line(machine, kernel, initramfs, disks, console), stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log, timeout=BOOT_LIMIT_S, check=False)
            except subprocess.TimeoutExpired:
                result.timed_out = True
        result.seconds = time.monotonic() - started
        result.console = (folder / "qemu.log").read_text(errors="replace")
        if console.exists():
            result.console += console.read_text(errors="replace")
        result.files = read_tar(out)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / "console").write_text(result.console)
            for name, data in result.files.items():
                (keep / name).parent.mkdir(parents=True, exist_ok=True)
                (keep / name).write_bytes(data)
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_tar(path):
    """Files of the archive that the guest wrote over its third disk; none if it never came that far."""
    files = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if member.isfile():
                    files[member.name.removeprefix("./")] = archive.extractfile(member).read()
    except tarfile.ReadError:
        pass
    return files
