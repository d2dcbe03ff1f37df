#!/usr/bin/python3
"""docs/record.schema.json is a valid JSON Schema and holds for every record: those of the tests, those in
the documentation, what the tool writes again from them, and what it measures now. A record that breaks
the schema is refused by the tool as well."""
import copy
import json
import subprocess
import sys
import unittest

import real

try:
    import jsonschema
except ImportError:
    real.skip("python3-jsonschema is not installed")

SCHEMA = json.loads((real.options.docs / "record.schema.json").read_text())


def problems(record):
    return [f"{list(error.path)}: {error.message}" for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(record)]


def spoilings(record):
    """Records that each break one rule that the schema states."""
    def spoiled(change):
        bad = copy.deepcopy(record)
        change(bad)
        return bad
    yield "schema name", spoiled(lambda bad: bad.update(schema="tmaprobe.record/2"))
    yield "no runs", spoiled(lambda bad: bad.pop("runs"))
    yield "unknown experiment", spoiled(lambda bad: bad.update(experiment="guess"))
    yield "unknown source", spoiled(lambda bad: bad["source"].update(kind="guess"))
    yield "value beside unavailable", spoiled(lambda bad: bad["runs"][0]["metrics"][0].update(status="unavailable"))
    yield "no value", spoiled(lambda bad: bad["runs"][0]["metrics"][0].update(value=None))
    yield "negative level", spoiled(lambda bad: bad["runs"][0]["metrics"][0].update(level=-1))
    yield "text for a time", spoiled(lambda bad: bad["runs"][0]["time"]["ns_per_op"].update(median="fast"))
    yield "missing bound", spoiled(lambda bad: bad["runs"][0]["metrics"][0].pop("low"))


class Schema(unittest.TestCase):
    def test_the_schema_itself(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_records_of_tests_and_docs(self):
        files = sorted(real.options.records.glob("*.json")) + sorted((real.options.docs / "examples").glob("*.json"))
        self.assertGreater(len(files), 8)
        for path in files:
            with self.subTest(record=path.name):
                self.assertEqual(problems(json.loads(path.read_text())), [])

    def test_what_the_tool_writes_again(self):
        for path in sorted(real.options.records.glob("*.json")):
            with self.subTest(record=path.name):
                written = real.report([path], "json")
                self.assertEqual(written.returncode, 0, written.stderr)
                self.assertEqual(problems(json.loads(written.stdout)), [])
                lines = real.report([path], "jsonl")
                for line in lines.stdout.splitlines():
                    self.assertEqual(problems(json.loads(line)), [])

    def test_what_the_tool_measures_now(self):
        measured = subprocess.run([real.options.tmaprobe, "--kernel", "sha256", "--json", "-", "--repeat", "3"],
                                  capture_output=True, text=True)
        self.assertEqual(measured.returncode, 0, measured.stderr)
        self.assertEqual(problems(json.loads(measured.stdout)), [])

    def test_schema_and_tool_refuse_the_same(self):
        record = json.loads((real.options.records / "sha256_modelled.json").read_text())
        for name, bad in spoilings(record):
            with self.subTest(spoiled=name):
                self.assertNotEqual(problems(bad), [])
                path = real.options.out / "bad.json"
                path.write_text(json.dumps(bad))
                refused = real.report([path], "csv")
                self.assertEqual(refused.returncode, 2)
                self.assertIn("bad.json", refused.stderr)
                self.assertEqual(refused.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *real.rest], verbosity=2)
