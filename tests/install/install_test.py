#!/usr/bin/env python3
"""`cmake --install` puts the man page, completions, board, alert rules and the timer beside the program, and each is
what its reader takes."""
import os
import pathlib
import shutil
import tempfile

from common import check, options, run

FILES = ["bin/tmaprobe", "share/man/man1/tmaprobe.1", "share/bash-completion/completions/tmaprobe",
         "share/zsh/vendor-completions/_tmaprobe", "share/fish/vendor_completions.d/tmaprobe.fish",
         "share/tmaprobe/dashboards/grafana.json", "share/tmaprobe/dashboards/alerts.yml",
         "share/tmaprobe/events/mapfile.csv", "lib/systemd/system/tmaprobe.service",
         "lib/systemd/system/tmaprobe.timer", "include/tmaprobe/region.h", "share/pkgconfig/tmaprobe-region.pc",
         "share/cmake/tmaprobe-region/tmaprobe-region-config.cmake"]

with tempfile.TemporaryDirectory() as folder:
    run("cmake", "--install", options.build, "--prefix", folder)
    prefix = pathlib.Path(folder)
    for file in FILES:
        check((prefix / file).is_file() and (prefix / file).stat().st_size > 0, f"{file} is installed")
    man = prefix / "share/man/man1/tmaprobe.1"
    help_text = run(prefix / "bin/tmaprobe", "help", "sweep")
    plain = man.read_text().replace("\\-", "-")
    for option in ("--seconds-per-point", "--fail-above", "--victim"):
        check(option in plain, f"the man page has {option}")
    check("A kernel over a range of sizes" in help_text and "A kernel over a range of sizes" in plain,
          "help and man page are of one text")
    if shutil.which("groff"):
        done = run("groff", "-man", "-Tutf8", "-ww", man, env=dict(os.environ, LC_ALL="C.UTF-8"))
        check("sweep" in done, "groff reads the man page")
    else:
        print("groff is not installed: the man page was not formatted")
    bash = prefix / "share/bash-completion/completions/tmaprobe"
    complete = f"source {bash}; COMP_WORDS=(tmaprobe sweep --siz); COMP_CWORD=2; _tmaprobe; echo ${{COMPREPLY[@]}}"
    check("--sizes" in run("bash", "-c", complete), "bash completes --siz")
    values = f"source {bash}; COMP_WORDS=(tmaprobe --color n); COMP_CWORD=2; _tmaprobe; echo ${{COMPREPLY[@]}}"
    check(run("bash", "-c", values).split() == ["never"], "bash completes the values of --color")
    for shell, file in (("zsh", FILES[3]), ("fish", FILES[4])):
        if shutil.which(shell):
            run(shell, "-n", prefix / file)
        else:
            print(f"{shell} is not installed: its completions were not read")
    if shutil.which("systemd-analyze"):
        unit = prefix / "lib/systemd/system/tmaprobe.service"
        unit.write_text(unit.read_text().replace("/usr/bin/tmaprobe", str(prefix / "bin/tmaprobe")))
        run("systemd-analyze", "verify", "--man=no", unit, prefix / "lib/systemd/system/tmaprobe.timer")
    else:
        print("systemd-analyze is not installed: the units were not verified")
print("ok")
