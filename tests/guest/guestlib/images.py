"""Builds what a guest boots from: the kernel module, the root file system, the tool's file system, the initramfs.

Everything is made under the build directory out of the cache that fetch.sh filled; nothing needs root or mounting.
"""
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
REGION_HEADER = SOURCE.parents[1] / "include/tmaprobe/region.h"  # of the programs that mark regions
CACHE = Path(os.environ.get("TMAPROBE_GUESTS_CACHE")
             or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tmaprobe-guests")

# In the order in which they depend on each other.
BOOT_MODULES = {
    "amd64": ["virtio/virtio_ring", "virtio/virtio", "virtio/virtio_pci_legacy_dev", "virtio/virtio_pci_modern_dev",
              "virtio/virtio_pci", "block/virtio_blk"],
    "arm64": ["virtio/virtio_ring", "virtio/virtio", "virtio/virtio_mmio", "block/virtio_blk"],
}

INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in /modules/*; do insmod $module; done
mount -o ro /dev/vda /root && mount -o ro /dev/vdb /root/tool || echo "guest: no root file system"
for folder in proc sys dev; do mount --bind /$folder /root/$folder; done
mount -t tmpfs tmpfs /root/tmp; mount -t tmpfs tmpfs /root/out; mount -t tmpfs tmpfs /root/run
chmod 1777 /root/tmp /root/out
cp /guest.sh /root/tmp/guest.sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot /root /bin/busybox sh /tmp/guest.sh
dmesg > /root/out/dmesg
tar -C /root/out -cf /dev/vdc .
sync
reboot -f
"""


class BuildError(Exception):
    """Something a guest needs could not be built; the message says what and how to mend it."""


def run(command, **options):
    """Runs a build command; BuildError with the end of its output when it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(map(str, command))[:200]} failed:\n" + "\n".join(done.stdout.splitlines()[-15:]))
    return done.stdout


def kernel(arch):
    """The guest's kernel image and its release."""
    images = sorted((CACHE / arch / "kernel" / "boot").glob("vmlinuz-*"))
    if not images:
        raise BuildError(f"no {arch} kernel in {CACHE}: run tests/guest/fetch.sh")
    return images[-1], images[-1].name.removeprefix("vmlinuz-")


def stamp_of(*parts):
    """One digest for texts and for files (by content)."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else str(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def up_to_date(target, stamp):
    """Whether target was made from what the stamp describes; a rebuild ends with write_stamp."""
    mark = target.with_name(target.name + ".stamp")
    return target.exists() and mark.exists() and mark.read_text() == stamp


def write_stamp(target, stamp):
    target.with_name(target.name + ".stamp").write_text(stamp)


def build_module(arch, build):
    """known_pmu.ko against the guest kernel's own headers."""
    _, release = kernel(arch)
    folder = build / arch / "known_pmu"
    target = folder / "known_pmu.ko"
    sources = sorted((SOURCE / "pmu").iterdir())
    stamp = stamp_of(release, *sources)
    if up_to_date(target, stamp):
        return target
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE / "pmu", folder)
    headers = CACHE / arch / "headers/usr/src" / f"linux-headers-{release}"
    cross = ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"] if arch == "arm64" else []
    run(["make", "-s", "-C", headers, *cross, f"M={folder}", "modules"])
    write_stamp(target, stamp)
    return target


def make_image(tree, target, spare_mb=8):
    """An ext4 image of a folder, without mounting anything."""
    size = sum(f.lstat().st_size + 4096 for f in tree.rglob("*")) // (1 << 20) * 5 // 4 + spare_mb
    scratch = target.with_name(target.name + ".new")
    scratch.unlink(missing_ok=True)
    mke2fs = shutil.which("mke2fs", path=os.environ["PATH"] + ":/usr/sbin:/sbin") or "mke2fs"
    run([mke2fs, "-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-d", tree, scratch, f"{size}M"])
    scratch.rename(target)


def build_root(arch, build):
    """The distribution's side of the guest: busybox, perf and their libraries."""
    target = build / arch / "root.img"
    stamp = stamp_of("root 3", (CACHE / arch / "complete"))
    if up_to_date(target, stamp):
        return target
    tree = build / arch / "root"
    shutil.rmtree(tree, ignore_errors=True)
    tree.parent.mkdir(parents=True, exist_ok=True)
    run(["cp", "-a", CACHE / arch / "root", tree])
    for unused in ("usr/share", "usr/include", "var"):
        shutil.rmtree(tree / unused, ignore_errors=True)
    for folder in ("tool", "out", "run", "proc", "sys", "dev", "tmp", "root", "bin"):
        (tree / folder).mkdir(exist_ok=True)
    applets = run([CACHE / "amd64/root/bin/busybox", "--list"]).split()
    for applet in applets:
        link = tree / "bin" / applet
        if not link.exists() and not link.is_symlink() and not (tree / "usr/bin" / applet).exists():
            link.symlink_to("busybox")
    (tree / "etc").mkdir(exist_ok=True)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nplain:x:1000:1000:plain:/tmp:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nplain:x:1000:\n")
    make_image(tree, target)
    shutil.rmtree(tree)
    write_stamp(target, stamp)
    return target


def shared_libraries(arch, binary):
    """The libraries a program loads beyond the C library: as ldd resolves them here, or out of the arm64 ones."""
    if arch == "arm64":
        needed = re.findall(r"NEEDED.*\[(.*)\]", run(["aarch64-linux-gnu-readelf", "-d", binary]))
        folders = [CACHE / "arm64/dev" / folder / "aarch64-linux-gnu" for folder in ("usr/lib", "lib")]
        return [folder / name for name in needed for folder in folders if (folder / name).exists()]
    listed = subprocess.run(["ldd", binary], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]


def build_programs(arch, build):
    """What is measured in the guests beside what the distribution has: name -> file. Their functions' names are
    exported, as the guests' files are stripped."""
    found = {}
    compiler = "aarch64-linux-gnu-gcc" if arch == "arm64" else "gcc"
    for source in sorted((SOURCE / "programs").glob("*.c")):
        target = build / arch / source.stem
        stamp = stamp_of("3", compiler, source, REGION_HEADER)
        if not up_to_date(target, stamp):
            target.parent.mkdir(parents=True, exist_ok=True)
            run([compiler, "-O1", "-Wall", "-rdynamic", "-pthread", "-I", REGION_HEADER.parents[1], "-o", target, source])
            write_stamp(target, stamp)
        found[source.stem] = target
    return found


def build_tool_image(arch, build, programs):
    """/tool of the guest: the programs under test with their libraries, and the module.

    programs: name in the guest -> file here.
    """
    target = build / arch / "tool.img"
    module = build_module(arch, build)
    stamp = stamp_of("tool 2", module, *programs.keys(), *programs.values())
    if up_to_date(target, stamp):
        return target
    tree = build / arch / "tool"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "lib").mkdir(parents=True)
    strip = "aarch64-linux-gnu-strip" if arch == "arm64" else "strip"
    for name, program in programs.items():
        run([strip, "-o", tree / name, program])
        (tree / name).chmod(0o755)
        for library in shared_libraries(arch, program):
            if "ld-linux" not in library.name:
                shutil.copy2(library, tree / "lib" / library.name)
    shutil.copy2(module, tree / "known_pmu.ko")
    make_image(tree, target)
    shutil.rmtree(tree)
    write_stamp(target, stamp)
    return target


def cpio(tree):
    """The folder as an uncompressed newc archive."""
    names = "\n".join(sorted(str(p.relative_to(tree)) for p in tree.rglob("*")))
    done = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=tree, input=names.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise BuildError("cpio failed: " + done.stderr.decode())
    return done.stdout


def build_initramfs(arch, build):
    """Busybox, the modules that the disks need, and an init that mounts them and runs /guest.sh."""
    _, release = kernel(arch)
    target = build / arch / "initramfs"
    stamp = stamp_of("initramfs", release, INIT, *BOOT_MODULES[arch])
    if up_to_date(target, stamp):
        return target
    tree = build / arch / "initramfs.tree"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("bin", "modules", "proc", "sys", "dev", "root"):
        (tree / folder).mkdir(parents=True)
    busybox = CACHE / arch / "root/bin/busybox"
    shutil.copy2(busybox, tree / "bin/busybox")
    for applet in ("sh", "mount", "insmod", "chroot", "tar", "sync", "reboot", "echo", "dmesg", "cp", "chmod"):
        (tree / "bin" / applet).symlink_to("busybox")
    drivers = CACHE / arch / "kernel/lib/modules" / release / "kernel/drivers"
    for number, module in enumerate(BOOT_MODULES[arch]):
        shutil.copy2(drivers / f"{module}.ko", tree / "modules" / f"{number}-{Path(module).name}.ko")
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    target.write_bytes(cpio(tree))
    shutil.rmtree(tree)
    write_stamp(target, stamp)
    return target
