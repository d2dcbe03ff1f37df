#!/usr/bin/env python3
"""tmaprobe/region.h as other projects use it: with GCC and Clang, in C99 and C++17, warnings as errors; vendored and
installed, with CMake and pkg-config; in a program with a shared library; compiled out.

    header_test.py --build BUILD
"""
import os
import pathlib
import platform
import shutil
import tempfile

from common import HERE, ROOT, check, parser, run

options = parser.parse_args()
C = ["-std=c99", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wc++-compat", "-Wno-error=c++-compat"]
CPP = ["-std=c++17", "-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"]
BOTH = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wundef", "-Wcast-align", "-Werror"]


def compilers():
    for c, cpp in (("gcc", "g++"), ("clang", "clang++"), ("clang-19", "clang++-19")):
        if shutil.which(c) and shutil.which(cpp):
            yield c, cpp
        else:
            print(f"{c} or {cpp} is not installed: not tried")


def build_by_hand(c, cpp, include, folder, further):
    main, other, library, program = folder / "m.o", folder / "o.o", folder / "libmarked.so", folder / "mixed"
    run(c, *C, *BOTH, *further, *include, "-c", HERE / "mixed_main.c", "-o", main)
    run(cpp, *CPP, *BOTH, *further, *include, "-c", HERE / "mixed_cpp.cpp", "-o", other)
    run(c, *C, *BOTH, *further, *include, "-fPIC", "-shared", HERE / "mixed_library.c", "-o", library)
    run(cpp, main, other, library, f"-Wl,-rpath,{folder}", *[f for f in further if f.startswith("-f")], "-o", program)
    return program


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    vendored = scratch / "vendored" / "tmaprobe"
    vendored.mkdir(parents=True)
    shutil.copy(ROOT / "include/tmaprobe/region.h", vendored)
    for c, cpp in compilers():
        for further in (["-O0"], ["-O2"], ["-O3", "-flto"] if c == "gcc" else ["-O3"], ["-Os", "-fPIE"],
                        ["-O2", "-DTMAPROBE_REGIONS_OFF"]):
            include = ["-I", scratch / "vendored"]  # no system folder: warnings of the header would show
            program = build_by_hand(c, cpp, include, scratch, further)
            check(run(program) == "225\n", f"{c}, {cpp} {' '.join(further)}")
            note = "tmaprobe" in run("readelf", "-n", program)
            check(note == ("-DTMAPROBE_REGIONS_OFF" not in further), f"its note is {'' if note else 'not '}there")
            if "-DTMAPROBE_REGIONS_OFF" in further:
                check("tmaprobe" not in run("nm", program), "nothing of it is left in the program")

    prefix = scratch / "prefix"
    run("cmake", "--install", options.build, "--prefix", prefix)
    for name, how in (("installed", f"-DCMAKE_PREFIX_PATH={prefix}"), ("vendored", f"-DVENDORED={ROOT / 'include'}")):
        project = scratch / (name + "_project")
        project.mkdir()
        shutil.copy(HERE / "consumer.cmake", project / "CMakeLists.txt")
        run("cmake", "-S", project, "-B", project / "build", how, f"-DSOURCES={HERE}")
        run("cmake", "--build", project / "build")
        check(run(project / "build/mixed") == "225\n", f"CMake, {name}")
    if shutil.which("pkg-config"):
        flags = run("pkg-config", "--cflags", "tmaprobe-region",
                    env=dict(os.environ, PKG_CONFIG_PATH=str(prefix / "share/pkgconfig"))).split()
        check(run(build_by_hand("gcc", "g++", flags, scratch, ["-O2"])) == "225\n", "pkg-config")
    else:
        print("pkg-config is not installed: not tried")
    if platform.machine() not in ("x86_64", "aarch64"):
        print("marks are nothing on this architecture")
print("ok")
