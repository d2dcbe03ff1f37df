#!/usr/bin/env python3
"""The release build's program runs where nothing else is: in a root folder that holds only itself."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from common import check, options, run, skip

with tempfile.TemporaryDirectory() as folder:
    shutil.copy(options.static, pathlib.Path(folder) / "tmaprobe")
    inside = ["chroot", folder] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user", f"--root={folder}"]
    able = subprocess.run(inside + ["/tmaprobe", "--version"], capture_output=True, text=True)
    if able.returncode and "ermitted" in able.stderr:
        skip(f"another root folder needs a right that is not there: {able.stderr.strip()}")
    check(able.stdout.startswith("tmaprobe "), f"--version answers: {able.stdout}{able.stderr}")
    check("sapphirerapids" in run(*inside, "/tmaprobe", "list", "targets"), "the tables are inside")
    check("ns per 64-byte block" in run(*inside, "/tmaprobe", "--kernel", "sha256", "--source", "none", "--repeat", "3"),
          "a kernel is timed")
    check("<html" in run(*inside, "/tmaprobe", "--kernel", "sha256", "--source", "none", "--repeat", "3", "--format",
                         "html"), "the page is inside")
    check(os.listdir(folder) == ["tmaprobe"], "nothing was left there")
needed = run("readelf", "-d", options.static)
check("NEEDED" not in needed, f"no shared library is needed: {needed}")
print("ok")
