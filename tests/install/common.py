"""What the tests of this folder share: their arguments, and how one is skipped."""
import argparse
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).parents[2]
parser = argparse.ArgumentParser()
parser.add_argument("--build", type=pathlib.Path, required=True)
parser.add_argument("--static", type=pathlib.Path, required=True)
options = parser.parse_args()


def run(*command, **further):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **further)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def check(holds, what):
    if not holds:
        sys.exit(f"not so: {what}")
