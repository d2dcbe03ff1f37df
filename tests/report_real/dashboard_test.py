#!/usr/bin/python3
"""The whole way to a board: records written for node_exporter's textfile collector, scraped by a real
Prometheus, and every query of docs/dashboards/grafana.json executed there."""
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

import real

# Queries that rightly find nothing in the records of this test, with the reason.
MAY_BE_EMPTY = {}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, AssertionError):
            if condition():
                return
        time.sleep(0.2)
    raise AssertionError(f"{what} did not happen within {seconds} s")


def records():
    """Records as two hosts would write them, with every kind of experiment."""
    files = []
    for number, name in enumerate(("chase_pages", "sweep_pages", "pairs", "sha256_modelled", "replay_deep", "interference_allocations")):
        record = json.loads((real.options.records / f"{name}.json").read_text())
        record["host"]["name"] = f"node{number % 2}"
        files.append(real.options.out / f"board-{name}.json")
        files[-1].write_text(json.dumps(record))
        if name in ("chase_pages", "sweep_pages"):
            # The same work on the same host, with its counts from another source and of another target.
            record["source"] = {"kind": "model", "target": "amdzen3", "detail": "another source"}
            files.append(real.options.out / f"board-{name}-modelled.json")
            files[-1].write_text(json.dumps(record))
    files.append(real.options.records.parents[1] / "record" / "written" / "kernel.json")  # with a model's own figures
    return files


def queries():
    board = json.loads((real.options.docs / "dashboards" / "grafana.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for variable in ("host", "kernel", "pages"):
                expression = expression.replace(f"${variable}", ".*")
            yield panel["title"], expression


class Board(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = real.options.out / "board"
        shutil.rmtree(cls.folder, ignore_errors=True)
        (cls.folder / "textfile").mkdir(parents=True)
        done = real.report(records(), "openmetrics", "-o", str(cls.folder / "textfile" / "tmaprobe.prom"))
        assert done.returncode == 0, done.stderr
        cls.exporter_port, cls.port = free_port(), free_port()
        config = (real.options.docs / "dashboards" / "prometheus.yml").read_text()
        config = config.replace("localhost:9100", f"127.0.0.1:{cls.exporter_port}").replace("15s", "1s")
        (cls.folder / "prometheus.yml").write_text(config)
        log = open(cls.folder / "log", "w")
        cls.processes = [
            subprocess.Popen(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{cls.exporter_port}",
                              "--collector.disable-defaults", "--collector.textfile",
                              f"--collector.textfile.directory={cls.folder / 'textfile'}"], stdout=log, stderr=log),
            subprocess.Popen(["prometheus", f"--web.listen-address=127.0.0.1:{cls.port}",
                              f"--config.file={cls.folder / 'prometheus.yml'}",
                              f"--storage.tsdb.path={cls.folder / 'data'}"], stdout=log, stderr=log)]
        try:
            wait_for(lambda: cls.query("tmaprobe_host"), 60, "the first scrape")
        except AssertionError as error:
            cls.tearDownClass()
            raise AssertionError(f"{error}\n{(cls.folder / 'log').read_text()[-3000:]}")

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            process.terminate()
        for process in cls.processes:
            process.wait(timeout=20)

    @classmethod
    def query(cls, expression):
        url = f"http://127.0.0.1:{cls.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        answer = json.loads(get(url))
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def test_the_exporter_took_the_whole_file(self):
        text = get(f"http://127.0.0.1:{self.exporter_port}/metrics")
        self.assertIn("node_textfile_scrape_error 0", text)
        self.assertIn("tmaprobe_pair_seconds", text)

    def test_every_query_of_the_board_finds_something(self):
        count = 0
        for title, expression in queries():
            with self.subTest(panel=title):
                found = self.query(expression)
                count += 1
                if title not in MAY_BE_EMPTY:
                    self.assertTrue(found, expression)
        self.assertGreater(count, 12)

    def test_values_arrive_as_they_were(self):
        found = self.query('tmaprobe_slots_ratio{node="backend_bound_cpu",kernel="sha256"}')
        self.assertEqual([float(series["value"][1]) for series in found], [0.658])
        self.assertEqual(found[0]["metric"]["status"], "modelled")
        self.assertEqual(found[0]["metric"]["host"], "node1")

    def test_the_variables_of_the_board_have_values(self):
        for label in ("host", "kernel", "pages"):
            url = f"http://127.0.0.1:{self.port}/api/v1/label/{label}/values"
            self.assertTrue(json.loads(get(url))["data"], label)

    def test_each_alert_fires_where_it_should(self):
        tested = subprocess.run(["promtool", "test", "rules", str(pathlib.Path(__file__).with_name("alerts_test.yml"))],
                                capture_output=True, text=True)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_times_of_several_sources_are_one_series(self):
        """A measured time has no model target: it would be a second one of what was measured once."""
        found = self.query('tmaprobe_time_per_operation_seconds{kernel="chase",statistic="median",size_bytes="16777216",options="chains=1",pages="4k"}')
        self.assertEqual(len({series["metric"]["host"] for series in found}), len(found), found)
        self.assertFalse(any("target" in series["metric"] or "source" in series["metric"] for series in found), found)

    def test_promtool_accepts_the_configuration(self):
        checked = subprocess.run(["promtool", "check", "config", str(real.options.docs / "dashboards" / "prometheus.yml")],
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    for program in ("prometheus", "promtool", "prometheus-node-exporter"):
        if not shutil.which(program):
            real.skip(f"{program} is not installed")
    unittest.main(argv=[sys.argv[0], *real.rest], verbosity=2)
