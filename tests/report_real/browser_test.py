#!/usr/bin/python3
"""Opens HTML reports in a real browser: nothing on the console, every chart drawn, a value under the
pointer, points reachable by keys, light and dark, usable soon. Screenshots stay in the build folder."""
import json
import pathlib
import sys
import time
import unittest

import real

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    real.skip("python3-selenium is not installed")

options = real.options


def write_page(name, files):
    page = options.out / f"{name}.html"
    done = real.report(files, "html", "-o", str(page))
    if "no HTML report" in done.stderr:
        real.skip(done.stderr.splitlines()[0])
    if done.returncode:
        raise RuntimeError(done.stderr)
    return page


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        chrome = Options()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1240,1600",
                     "--force-device-scale-factor=1", "--disable-background-networking", "--disable-component-update"):
            chrome.add_argument(flag)
        chrome.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        chrome.binary_location = "/usr/bin/chromium"
        cls.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=chrome)
        cls.driver.set_page_load_timeout(60)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()

    def open(self, page):
        self.driver.get(page.as_uri())
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            boxes = self.driver.execute_script("return [charts.filter(c => c.box.clientWidth).length, charts.filter(c => c.box.dataset.drawn).length]")
            if boxes[0] == boxes[1]:
                break
            time.sleep(0.05)
        self.assertEqual(boxes[0], boxes[1], "charts that were not drawn")
        return boxes[0]

    def expect_quiet_console(self):
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])

    def shot(self, name, element="main"):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        self.driver.set_window_size(1240, min(height + 140, 6000))
        self.driver.save_screenshot(str(options.out / f"{name}.png"))
        self.driver.set_window_size(1240, 1600)

    def test_every_record_draws_without_a_word_on_the_console(self):
        charts_expected = {"time_only": 0}
        for record in sorted(options.records.glob("*.json")):
            with self.subTest(record=record.stem):
                count = self.open(write_page(record.stem, [record]))
                self.assertGreaterEqual(count, charts_expected.get(record.stem, 1))
                shapes = self.driver.execute_script(
                    "return charts.map(c => c.box.querySelectorAll('svg path, svg text').length)")
                self.assertTrue(all(number > 3 for number in shapes), shapes)
                self.expect_quiet_console()

    def test_light_and_dark(self):
        page = write_page("themes", [options.records / "sha256_modelled.json"])
        for scheme in ("light", "dark"):
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.open(page)
            self.shot(f"sha256-{scheme}")
            background = self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            red = int(background.split("(")[1].split(",")[0])
            self.assertEqual(red > 128, scheme == "light", background)
        self.driver.find_element(By.TAG_NAME, "button").click()
        self.assertEqual(self.driver.execute_script("return document.documentElement.dataset.theme"), "light")
        self.expect_quiet_console()
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_the_pointer_shows_the_value_with_bounds_and_status(self):
        self.open(write_page("hover", [options.records / "sha256_modelled.json"]))
        chart = self.driver.find_element(By.CLASS_NAME, "chart")
        ActionChains(self.driver).move_to_element_with_offset(chart, 0, -chart.size["height"] // 2 + 25).perform()
        time.sleep(0.4)
        self.assertRegex(chart.text, r"backend_bound: 67\.5% of slots, 66\.5\.\.68\.5%, modelled")

    def test_keys_visit_the_points(self):
        self.open(write_page("keys", [options.records / "sweep_pages.json"]))
        chart = self.driver.find_element(By.CLASS_NAME, "chart")
        self.driver.execute_script("arguments[0].focus()", chart)
        chart.send_keys(Keys.ARROW_RIGHT)
        spoken = self.driver.find_element(By.CSS_SELECTOR, "figure [aria-live]").text
        self.assertIn("4k, 16K: 1.2 ns", spoken)
        chart.send_keys(Keys.ARROW_RIGHT)
        self.assertIn("4k, 32K", self.driver.find_element(By.CSS_SELECTOR, "figure [aria-live]").text)
        self.assertIn("4k, 32K", chart.text)

    def test_tab_reaches_every_chart_and_button(self):
        self.open(write_page("tabs", [options.records / "chase_pages.json"]))
        reachable = self.driver.execute_script(
            "return [...document.querySelectorAll('.chart, button, summary')].every(e => e.tabIndex >= 0)")
        self.assertTrue(reachable)

    def test_knees_page_modes_and_pairs_are_there(self):
        for name in ("sweep_pages", "chase_pages", "pairs", "interference", "interference_allocations", "command_intervals", "replay_deep"):
            self.open(write_page(name, [options.records / f"{name}.json"]))
            self.shot(name)
        self.open(options.out / "interference_allocations.html")
        titles = [caption.text for caption in self.driver.find_elements(By.TAG_NAME, "figcaption")]
        for control in ("cache bitmap", "bandwidth cap"):
            for quantity in ("time per load", "occupancy", "memory bandwidth"):
                self.assertIn(f"Victim's {quantity} against the {control}", titles)
        self.open(options.out / "sweep_pages.html")
        self.assertIn("predicted 4k", self.driver.find_element(By.CLASS_NAME, "chart").text)
        self.assertIn("found 4k", self.driver.find_element(By.CLASS_NAME, "chart").text)

    def test_hostile_text_stays_text(self):
        self.open(write_page("hostile", [options.records / "hostile.json"]))
        self.assertEqual(self.driver.execute_script("return document.scripts.length"), 7)
        self.assertIn("</script>", self.driver.find_element(By.TAG_NAME, "main").text)
        chart = self.driver.find_element(By.CLASS_NAME, "chart")
        self.driver.execute_script("arguments[0].focus()", chart)
        chart.send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.driver.execute_script("return document.querySelectorAll('.chart b, .chart script').length"), 0)
        self.expect_quiet_console()

    def test_many_records_are_small_and_usable_soon(self):
        source = json.loads((options.records / "sweep_pages.json").read_text())
        files = []
        for number in range(200):
            record = json.loads(json.dumps(source))
            record["host"]["name"] = f"node{number:03}"
            record["started"] = f"2026-01-{number % 28 + 1:02}T{number % 24:02}:00:00Z"
            for run in record["runs"]:
                for statistic in ("median", "low", "high"):
                    run["time"]["ns_per_op"][statistic] *= 1 + number / 1000
            path = options.out / f"record-{number:03}.json"
            path.write_text(json.dumps(record))
            files.append(path)
        page = write_page("many", files)
        self.assertLess(page.stat().st_size, 5_000_000)
        self.open(page)
        loaded = self.driver.execute_script("const t = performance.getEntriesByType('navigation')[0]; return t.loadEventEnd - t.startTime")
        print(f"page of 200 records: {page.stat().st_size / 1e6:.2f} MB, loaded after {loaded:.0f} ms", file=sys.stderr)
        self.expect_quiet_console()
        self.shot("many")
        for path in files:
            path.unlink()

    def resized(self, width, height, scheme="light"):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def usual_size(self):
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_verdict_time_and_tree_are_above_the_fold(self):
        page = write_page("fold", [options.records / "sha256_modelled.json"])
        for width, height in ((1400, 900), (390, 844)):
            with self.subTest(width=width):
                self.resized(width, height)
                self.open(page)
                place = self.driver.execute_script("""const bottom = (e) => e.getBoundingClientRect().bottom;
                    return [bottom(document.querySelector('.verdict')), bottom([...document.querySelectorAll('p')].find(p => p.textContent.includes('per 64-byte block'))),
                            bottom(document.querySelector('.chart')), innerHeight]""")
                self.assertEqual(place, sorted(place), "verdict, time, tree, and the window's end in this order")
        self.usual_size()

    def test_nothing_overflows_or_overlaps_at_any_width(self):
        for name in ("sha256_modelled", "chase_pages", "sweep_pages", "pairs", "interference", "command_intervals"):
            page = write_page(f"wide-{name}", [options.records / f"{name}.json"])
            for width in (390, 768, 1400):
                for scheme in ("light", "dark"):
                    with self.subTest(record=name, width=width, scheme=scheme):
                        self.resized(width, 900, scheme)
                        self.open(page)
                        self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width)
                        overlapping = self.driver.execute_script("""
                            const boxes = [...document.querySelectorAll('main > *, main > section > *')].map(e => [e.tagName, e.getBoundingClientRect()]).filter(b => b[1].height > 0);
                            return boxes.slice(1).filter(([tag, box], i) => box.top + 1 < boxes[i][1].bottom && box.left < boxes[i][1].right && boxes[i][1].left < box.right).map(b => b[0])""")
                        self.assertEqual([tag for tag in overlapping if tag not in ("H1", "BUTTON")], [])
                        cut = self.driver.execute_script("""
                            return [...document.querySelectorAll('.chart')].flatMap(chart => { const box = chart.getBoundingClientRect();
                                return [...chart.querySelectorAll('svg text')].filter(t => t.textContent.trim()).map(t => [t.textContent, t.getBoundingClientRect()])
                                    .filter(([, r]) => r.width > 0 && (r.left < box.left - 1 || r.right > box.right + 1)).map(([words]) => words) })""")
                        if width == 1400:
                            self.assertEqual(cut, [], "texts that leave their chart")
        self.usual_size()

    def test_repetitions_have_a_plot_and_the_disturbed_are_marked(self):
        record = json.loads((options.records.parents[1] / "record" / "written" / "kernel.json").read_text())
        repetitions = record["runs"][0]["extra"]["repetitions"]
        for number, one in enumerate(repetitions):
            one["clean"] = number % 2 == 0
        path = options.out / "disturbed.json"
        path.write_text(json.dumps(record))
        self.open(write_page("disturbed", [path]))
        titles = [caption.text for caption in self.driver.find_elements(By.TAG_NAME, "figcaption")]
        self.assertTrue(any(title.startswith("Time of each repetition") for title in titles), titles)
        figure = next(f for f in self.driver.find_elements(By.TAG_NAME, "figure") if "Time of each repetition" in f.text)
        self.assertIn("disturbed", figure.text)

    def test_a_page_of_one_run_is_small(self):
        for name in ("sha256_modelled", "replay_deep"):
            self.assertLess(write_page(f"small-{name}", [options.records / f"{name}.json"]).stat().st_size, 700_000)

    def test_without_javascript_the_tables_are_there(self):
        page = write_page("noscript", [options.records / "chase_pages.json"])
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        self.driver.get(page.as_uri())
        text = self.driver.find_element(By.TAG_NAME, "body").text
        rows = [row.text for row in self.driver.find_elements(By.TAG_NAME, "tr")]
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        for words in ("2m pages take 34.2% less time", "backend_bound_memory", "dtlb_walk"):
            self.assertIn(words, text)
        self.assertTrue(any(row.startswith("backend_bound_memory") for row in rows), rows)
        self.assertTrue(any(row.startswith("pages 4k 2m") for row in rows), rows)

    def test_disturbed_points_of_a_sweep_are_marked(self):
        record = json.loads((options.records / "sweep_pages.json").read_text())
        for number, run in enumerate(record["runs"]):
            run["time"]["clean"], run["time"]["disturbed"] = (1, 8) if number < 2 else (9, 0)
        path = options.out / "disturbed_sweep.json"
        path.write_text(json.dumps(record))
        self.open(write_page("disturbed_sweep", [path]))
        main = self.driver.find_element(By.TAG_NAME, "main").text
        self.assertIn("2 of ", main)
        self.assertIn("points were disturbed by other work", main)
        mark = self.driver.execute_script("return ink('mark')")
        ringed = "return [...document.querySelector('.chart').querySelectorAll('svg path')].filter(p => p.getAttribute('stroke') === arguments[0]).length"
        self.assertGreaterEqual(self.driver.execute_script(ringed, mark), 2)
        self.open(write_page("undisturbed_sweep", [options.records / "sweep_pages.json"]))
        self.assertNotIn("disturbed by other work", self.driver.find_element(By.TAG_NAME, "main").text)

    def test_page_modes_show_translation_as_rates(self):
        record = json.loads((options.records / "chase_pages.json").read_text())
        for number, run in enumerate(record["runs"]):
            metric = json.loads(json.dumps(next(m for m in run["metrics"] if m["category"] == "tlb")))
            run["metrics"] += [dict(metric, name="misses", unit="count", level=0, value=5000.0, low=5000.0, high=5000.0),
                               dict(metric, name="walks_pki", unit="per_kilo_instructions", level=0, value=8.0 - number, low=7.0, high=9.0)]
        path = options.out / "rates.json"
        path.write_text(json.dumps(record))
        self.open(write_page("rates", [path]))
        figure = next(f for f in self.driver.find_elements(By.TAG_NAME, "figure") if "per 1000 instructions" in f.text)
        self.assertIn("walks_pki", figure.text)
        shown = [row.text.split()[0] for row in self.driver.find_elements(By.CSS_SELECTOR, "main > div > .scroll tr") if row.text]
        self.assertIn("walks_pki", shown)
        self.assertNotIn("misses", shown)

    def test_pairs_of_one_value_have_no_colours(self):
        record = json.loads((options.records / "pairs.json").read_text())
        pairs = record["extra"]["pairs"]
        pairs["ns"] = [[None if x is None else 7.0 for x in row] for row in pairs["ns"]]
        path = options.out / "even.json"
        path.write_text(json.dumps(record))
        backgrounds = "return [...new Set([...document.querySelectorAll('td.pair')].map(e => getComputedStyle(e).backgroundColor))].length"
        self.open(write_page("even", [path]))
        self.assertEqual(self.driver.execute_script(backgrounds), 1)
        self.open(write_page("uneven", [options.records / "pairs.json"]))
        self.assertGreater(self.driver.execute_script(backgrounds), 2)

    def test_many_records_are_sorted_filtered_and_compared(self):
        files = []
        for number, day in enumerate((3, 1, 2)):
            record = json.loads((options.records / "sha256_modelled.json").read_text())
            record["started"] = f"2026-01-0{day}T00:00:00Z"
            record["host"]["name"] = f"node{day}"
            for statistic in ("median", "min", "max", "low", "high"):
                record["runs"][0]["time"]["ns_per_op"][statistic] = 10.0 * day
            files.append(options.out / f"sorted-{number}.json")
            files[-1].write_text(json.dumps(record))
        self.open(write_page("sorted", files))
        hosts = lambda: [row.find_elements(By.TAG_NAME, "td")[1].text for row in self.driver.find_elements(By.CSS_SELECTOR, "section tbody tr") if row.is_displayed()]
        self.assertEqual(hosts(), ["node1", "node2", "node3"])
        heading = next(b for b in self.driver.find_elements(By.CSS_SELECTOR, "button.sort") if b.text == "time")
        heading.click()
        heading.click()
        self.assertEqual(hosts(), ["node3", "node2", "node1"])
        baseline = self.driver.find_element(By.CSS_SELECTOR, "select[aria-label=Baseline]")
        next(o for o in baseline.find_elements(By.TAG_NAME, "option") if "node1" in o.text).click()
        cells = [row.find_elements(By.TAG_NAME, "td")[5].text for row in self.driver.find_elements(By.CSS_SELECTOR, "section tbody tr")]
        self.assertEqual(cells, ["+200.0%", "+100.0%", "baseline"])
        self.driver.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("node2")
        self.assertEqual(hosts(), ["node2"])
        self.expect_quiet_console()

    def test_it_prints(self):
        self.open(write_page("print", [options.records / "sha256_modelled.json"]))
        pdf = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
        self.assertGreater(len(pdf), 20_000)


if __name__ == "__main__":
    for program in ("/usr/bin/chromium", "/usr/bin/chromedriver"):
        if not pathlib.Path(program).exists():
            real.skip(f"{program} is not installed")
    write_page("probe", [options.records / "time_only.json"])
    unittest.main(argv=[sys.argv[0], *real.rest], verbosity=2)
