#!/usr/bin/env python3
"""The Debian package of the tree's own script: its files, what it depends on, and what lintian says of it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import TREE, check, options, run, skip

for program in ("dpkg-deb", "dpkg-shlibdeps", "git"):
    if not shutil.which(program):
        skip(f"{program} is not installed")
with tempfile.TemporaryDirectory() as folder:
    made = run(TREE / "cmake/package/debian.sh", folder, env=dict(os.environ, TMAPROBE_BUILD=str(options.build)))
    package = pathlib.Path(made.strip().splitlines()[-1])
    content = run("dpkg-deb", "--contents", package)
    for file in ("/usr/bin/tmaprobe", "man1/tmaprobe.1.gz", "changelog.Debian.gz", "copyright", "tmaprobe.timer",
                 "completions/tmaprobe", "dashboards/grafana.json"):
        check(file in content, f"{file} is in the package")
    check("libc6" in run("dpkg-deb", "--field", package, "Depends"), "it depends on the C library")
    if not shutil.which("lintian"):
        print("lintian is not installed: what it says was not looked at")
        sys.exit(0)
    said = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", package], capture_output=True, text=True)
    serious = [line for line in said.stdout.splitlines() if line.startswith(("E:", "W:"))]
    check(not serious, "lintian has no error and no warning:\n" + "\n".join(serious) + said.stderr)
print("ok")
