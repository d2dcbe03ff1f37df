#!/usr/bin/env python3
"""The release build's program in root folders of distributions: it starts, times, models and writes its page there.

They are those in the folder that TMAPROBE_ROOTS names, made for example by
    debootstrap --variant=minbase bookworm $TMAPROBE_ROOTS/bookworm
"""
import os
import pathlib
import shutil
import sys

from common import check, options, run, skip

folder = pathlib.Path(os.environ.get("TMAPROBE_ROOTS") or "/nowhere")
roots = sorted(root for root in folder.glob("*") if (root / "etc/os-release").exists())
if not roots:
    skip("TMAPROBE_ROOTS names no folder with root folders of distributions (debootstrap makes them)")
if os.getuid() != 0:
    skip("another root folder needs root")
for root in roots:
    placed = root / "tmp/tmaprobe"
    shutil.copy(options.static, placed)
    name = next(line for line in (root / "etc/os-release").read_text().splitlines() if line.startswith("PRETTY_NAME"))
    inside = ["chroot", root, "/tmp/tmaprobe"]
    check(run(*inside, "--version").startswith("tmaprobe "), f"{name}: --version answers")
    check("amdzen4" in run(*inside, "list", "targets"), f"{name}: the tables are inside")
    timed = run(*inside, "--kernel", "sha256", "--source", "none", "--repeat", "3")
    check("ns per 64-byte block" in timed, f"{name}: a kernel is timed")
    modelled = run(*inside, "--kernel", "sha256", "--source", "model", "--target", "amdzen4", "--repeat", "3")
    check("MODELLED" in modelled, f"{name}: a kernel is modelled")
    check("<html" in run(*inside, "--kernel", "sha256", "--source", "none", "--repeat", "3", "--format", "html"),
          f"{name}: the page is inside")
    placed.unlink()
    print(f"{name}: ok")
sys.exit(0)
