"""What the tests of this folder share: the command line, running `tmaprobe report`, skipping."""
import argparse
import pathlib
import subprocess
import sys

_arguments = argparse.ArgumentParser()
_arguments.add_argument("--tmaprobe", required=True)
_arguments.add_argument("--records", type=pathlib.Path, required=True)
_arguments.add_argument("--docs", type=pathlib.Path, required=True)
_arguments.add_argument("--out", type=pathlib.Path, required=True)
options, rest = _arguments.parse_known_args()
options.out.mkdir(parents=True, exist_ok=True)

HERE = pathlib.Path(__file__).resolve().parent


def skip(reason):
    """Ends the test as skipped (see SKIP_RETURN_CODE in CMakeLists.txt), saying why."""
    print(f"skipped: {reason}; tests/report_real/fetch.sh installs it")
    sys.exit(77)


def report(files, output_format, *more):
    """Runs `tmaprobe report FILES --format FORMAT ...`."""
    return subprocess.run([options.tmaprobe, "report", *map(str, files), "--format", output_format, *more],
                          capture_output=True, text=True)


def own_python():
    """The interpreter that has the packages from PyPI; skips without it."""
    python = HERE.parent.parent / "build" / "report_real_python" / "bin" / "python3"
    if not python.exists():
        skip("DuckDB and the OpenMetrics parser are not installed")
    return str(python)
