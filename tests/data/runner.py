"""Runs the tests of a file as unittest.main does, but so that ctest sees a skip as one.

Exit status 77: everything was skipped, for the reasons printed. With TMAPROBE_SKIP_NOTHING=1 a skip is a failure.
"""
import os
import sys
import unittest

SKIPPED = 77


def main():
    result = unittest.main(module="__main__", exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}", file=sys.stderr)
    if not result.wasSuccessful() or (result.skipped and os.environ.get("TMAPROBE_SKIP_NOTHING") == "1"):
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and len(result.skipped) == result.testsRun else 0)
