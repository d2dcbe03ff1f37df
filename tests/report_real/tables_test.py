#!/usr/bin/python3
"""Every SQL line shown in the documentation, executed by DuckDB on files that the tool wrote as shown."""
import json
import re
import shutil
import subprocess
import sys
import unittest

import real

RUN = """
import duckdb, json, sys
rows = duckdb.sql(sys.stdin.read()).fetchall()
json.dump(rows, sys.stdout, default=str)
"""


def sql(folder, query):
    done = subprocess.run([real.own_python(), "-c", RUN], input=query, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{query}\n{done.stderr}"
    return json.loads(done.stdout)


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = real.options.out / "tables"
        shutil.rmtree(cls.folder, ignore_errors=True)
        cls.folder.mkdir()
        files = [real.options.records / f"{name}.json" for name in ("sha256_modelled", "chase_pages", "sweep_pages", "pairs", "replay_deep")]
        for output_format in ("jsonl", "csv"):
            done = real.report(files, output_format, "-o", str(cls.folder / f"records.{output_format}"))
            assert done.returncode == 0, done.stderr

    def test_every_query_of_the_docs(self):
        count = 0
        for page in sorted(real.options.docs.glob("*.md")):
            for query in re.findall(r"```sql\n(.*?)```", page.read_text(), re.S):
                with self.subTest(page=page.name, query=query):
                    self.assertTrue(sql(self.folder, query))
                    count += 1
        self.assertGreater(count, 2)

    def test_lines_and_table_hold_the_same_values(self):
        from_lines = sql(self.folder, "SELECT m.name, m.value, m.status FROM (SELECT unnest(runs[1].metrics) AS m FROM 'records.jsonl') ORDER BY ALL")
        from_table = sql(self.folder, "SELECT name, value, status FROM 'records.csv' WHERE category NOT IN ('time', 'pairs') ORDER BY ALL")
        self.assertEqual(from_lines, from_table)
        self.assertGreater(len(from_lines), 60)

    def test_one_line_per_run(self):
        self.assertEqual(sql(self.folder, "SELECT experiment, count(*) FROM 'records.jsonl' GROUP BY ALL ORDER BY ALL"),
                         [["pairs", 1], ["replay", 1], ["run", 4], ["sweep", 30]])

    def test_a_hostile_record_is_one_row_per_value(self):
        done = real.report([real.options.records / "hostile.json"], "csv", "-o", str(self.folder / "hostile.csv"))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = sql(self.folder, "SELECT count(*) FROM read_csv('hostile.csv', header = true)")
        self.assertEqual(rows, [[8]])  # one for each metric and time, and both ways of a pair
        for line in (self.folder / "hostile.csv").read_text().splitlines():
            self.assertFalse(line.startswith(("=", "+", "-", "@")))

    def test_lines_are_read_back_as_the_same_records(self):
        written = real.report([self.folder / "records.jsonl"], "jsonl")
        self.assertEqual(written.stdout, (self.folder / "records.jsonl").read_text())


if __name__ == "__main__":
    real.own_python()
    unittest.main(argv=[sys.argv[0], *real.rest], verbosity=2)
