#!/usr/bin/env python3
"""Whether every C++ source file is as .clang-format has it: exit status 1 names those that are not, 77 (skipped) says that
clang-format is not there.

    format.py [TREE] [--fix]
"""

import pathlib
import shutil
import subprocess
import sys


def main():
    tree = pathlib.Path(next((a for a in sys.argv[1:] if a != "--fix"), pathlib.Path(__file__).parents[2]))
    formatter = shutil.which("clang-format-19")
    if not formatter:
        print("skipped: clang-format-19 is not installed (third_party/setup.sh --test installs it)")
        return 77
    kernel_module = tree / "tests" / "guest" / "pmu"  # C in the style of the kernel, which it is built with
    files = [str(f) for folder in ("src", "kernels", "tests") for f in sorted((tree / folder).rglob("*"))
             if f.suffix in (".h", ".cpp") and kernel_module not in f.parents]
    how = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
    return subprocess.run([formatter, *how, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
