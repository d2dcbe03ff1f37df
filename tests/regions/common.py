"""What the tests of this folder share."""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
parser = argparse.ArgumentParser()
parser.add_argument("--build", type=pathlib.Path, required=True)


def run(*words, **further):
    """What it prints; its failure is the test's."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **further)
    if done.returncode:
        sys.exit(f"{' '.join(str(word) for word in words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(right, what):
    if not right:
        sys.exit("not so: " + what)
    print("ok:", what)
