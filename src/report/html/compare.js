"use strict";
// Several runs beside each other: page modes of one record, states of an interference record, or many
// records of many hosts and days.

const runName = (run) => run.state || (run.pages ? `pages ${run.pages}` : run.label);

/** Counts of translation in runs of different lengths say nothing side by side, where there are rates of the same. */
const bareCount = (name, names) => definition(name).category === "tlb" && ["count", ""].includes(definition(name).unit) &&
  names.some((other) => definition(other).category === "tlb" && !["count", ""].includes(definition(other).unit));

/** Grouped bars with low..high: shares of slots and cycles, then what translation costs per 1000 instructions. */
function addModeBars(parent, runs) {
  const find = (run, name) => run.metrics.find((metric) => metric.name === name) || { name, value: null, status: "not in this run" };
  const largest = (name) => Math.max(...runs.map((run) => find(run, name).value ?? 0));
  const all = runs[0].metrics.map((metric) => metric.name);
  const shares = all.filter((name) => definition(name).of && (definition(name).level <= 2 || definition(name).category === "tlb") && (definition(name).level === 1 || largest(name) >= 0.005));
  const rates = all.filter((name) => definition(name).category === "tlb" && definition(name).unit === "per_kilo_instructions" && largest(name) > 0);
  const draw = (names, title, axis) => {
    if (!names.length) return;
    addChart(parent, {
      title, height: 60 + 22 * names.length * Math.max(1, runs.length / 2),
      option: () => ({
        legend: legendLook(), grid: { left: 8, right: 30, top: 36, bottom: 28, containLabel: true },
        xAxis: { type: "value", min: 0, ...axisLook(), axisLabel: { color: ink("ink"), formatter: axis } },
        yAxis: { type: "category", data: names, inverse: true, ...axisLook() },
        tooltip: tooltip((params) => (params.seriesIndex < runs.length ? `${escaped(runName(runs[params.seriesIndex]))}<br>${metricTip(find(runs[params.seriesIndex], names[params.dataIndex]))}` : "")),
        series: runs.map((run, i) => ({ type: "bar", name: runName(run), color: seriesInk(i), data: names.map((name) => find(run, name).value) })),
      }),
      stops: () => runs.flatMap((run, s) => names.map((name, i) => [s, i, `${runName(run)}: ${metricWords(find(run, name))}`])),
    });
  };
  draw(shares, "The same metrics side by side, shares of slots and cycles", (v) => `${Math.round(100 * v)}%`);
  draw(rates, "Address translation side by side, per 1000 instructions", three);
}

/** The victim's time in each state of an interference record, lowest to highest as a line. */
function addStateTimes(parent, runs) {
  const states = runs.filter((run) => run.state && !run.allocation && run.time.known);
  if (states.length < 2) return;
  const words = (run) => `${run.state}: ${nanoseconds(run.time.ns.median)} per ${run.time.operation}, ${nanoseconds(run.time.ns.min)} to ${nanoseconds(run.time.ns.max)}${run.change ? `, ${(100 * run.change[0]).toFixed(1)}% against alone` : ""}`;
  const ends = (i, api, statistic) => api.coord([states[i].time.ns[statistic], i]);
  addChart(parent, {
    title: `Victim's time per ${states[0].time.operation} in each state`, height: 70 + 34 * states.length,
    option: () => ({
      grid: { left: 8, right: 40, top: 12, bottom: 28, containLabel: true },
      xAxis: { type: "value", min: 0, max: 1.05 * Math.max(...states.map((run) => run.time.ns.max)), ...axisLook(), axisLabel: { color: ink("ink"), formatter: nanoseconds, showMaxLabel: false } },
      yAxis: { type: "category", inverse: true, data: states.map((run) => run.state), ...axisLook() },
      tooltip: tooltip((params) => (states[params.dataIndex] ? escaped(words(states[params.dataIndex])) : "")),
      series: [{ type: "bar", color: seriesInk(0), data: states.map((run) => run.time.ns.median), barMaxWidth: 22 },
        { type: "custom", silent: true, tooltip: { show: false }, data: states.map((run, i) => [run.time.ns.max, i]), renderItem: (params, api) => {
          const low = ends(params.dataIndex, api, "min"), high = ends(params.dataIndex, api, "max");
          return { type: "line", shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] }, style: { stroke: ink("ink"), lineWidth: 2 } };
        } }],
    }),
    stops: () => states.map((run, i) => [0, i, words(run)]),
  });
}

function sideBySide(runs) {
  const names = [...new Set(runs.flatMap((run) => run.metrics.map((metric) => metric.name)))];
  const cell = (run, name) => {
    const metric = run.metrics.find((one) => one.name === name);
    if (!metric) return "-";
    return metric.value === null ? metric.status : `${metric.text}${metric.flags ? "!" : ""} (${bounds(metric)}) ${metric.status}`;
  };
  const time = (run) => (run.time.known ? nanoseconds(run.time.ns.median) : "unavailable");
  const spread = (run) => (run.time.known ? `${nanoseconds(run.time.ns.min)} to ${nanoseconds(run.time.ns.max)}` : "-");
  const signed = (share) => `${share >= 0 ? "+" : ""}${(100 * share).toFixed(1)}%`;
  const change = (run) => (run.change ? signed(run.change[0]) : "-");
  const interval = (run) => (run.change && known(run.change[1]) && known(run.change[2]) ? `${signed(run.change[1])} to ${signed(run.change[2])}` : "-");
  const monitor = (run, title) => run.monitors.find((one) => one.title === title)?.text ?? "-";
  const rows = [["obtained", ...runs.map((run) => run.obtained || "-")], [`time per ${runs[0].time.operation}`, ...runs.map(time)], ["min to max", ...runs.map(spread)],
    ["bytes/s", ...runs.map((run) => (run.time.rate ? rate(run.time.rate.median) : "-"))]];
  if (runs.some((run) => run.change)) rows.push(["against alone", ...runs.map(change)], ["low to high", ...runs.map(interval)]);
  for (const title of new Set(runs.flatMap((run) => run.monitors.map((one) => one.title)))) rows.push([title, ...runs.map((run) => monitor(run, title))]);
  // What is nothing in every run is behind a fold.
  const something = (name) => definition(name).level === 1 || runs.some((run) => { const metric = run.metrics.find((one) => one.name === name); return metric && (metric.value === null || Math.abs(metric.value) >= 0.005 || metric.high >= 0.005); });
  const row = (name) => [name, ...runs.map((run) => cell(run, name))];
  const counts = names.filter((name) => bareCount(name, names)), rest = names.filter((name) => !counts.includes(name));
  const headings = ["", ...runs.map(runName)], nothing = rest.filter((name) => !something(name));
  return el("div", {}, table(headings, [...rows, ...rest.filter(something).map(row)]),
    counts.length ? el("details", {}, el("summary", {}, `${counts.length} counts of runs of different lengths`), table(headings, counts.map(row))) : null,
    nothing.length ? el("details", {}, el("summary", {}, `${nothing.length} rows below 0.5% in every run`), table(headings, nothing.map(row))) : null);
}

/** By what ran, where and when; the number is the row's in the table. */
const recordName = (record, index) => `${index + 1}. ${record.label || record.experiment}, ${record.hostName || record.cpu || "?"} ${record.started}`.trim();

/** Level 1 of every record's first run as stacked bars, one bar per record. */
function addLevelOneBars(parent, records) {
  const shown = records.map((record, index) => ({ record, index, run: record.runs[0] })).filter((item) => item.run && item.run.metrics.some((metric) => definition(metric.name).level === 1 && metric.value !== null));
  if (shown.length < 2) return;
  const categories = ["frontend", "bad_speculation", "backend", "retiring", "other"];
  const find = (item, category) => item.run.metrics.find((metric) => definition(metric.name).level === 1 && (definition(metric.name).category === category ||
    (category === "other" && !categories.includes(definition(metric.name).category))));
  const words = (item, category) => { const metric = find(item, category); return `${recordName(item.record, item.index)}, ${item.record.label}: ${metric ? metricWords(metric) : `no ${category}`}`; };
  addChart(parent, {
    title: "Level 1 of each record, share of slots", height: Math.min(1600, 90 + 20 * shown.length),
    option: () => ({
      legend: legendLook(), grid: { left: 8, right: 30, top: 36, bottom: 28, containLabel: true },
      xAxis: { type: "value", min: 0, max: 1, ...axisLook(), axisLabel: { color: ink("ink"), formatter: (v) => `${Math.round(100 * v)}%` } },
      yAxis: { type: "category", inverse: true, data: shown.map((item) => recordName(item.record, item.index)), ...axisLook(), axisLabel: { color: ink("ink"), width: 260, overflow: "truncate" } },
      tooltip: tooltip((params) => escaped(words(shown[params.dataIndex], categories[params.seriesIndex]))),
      series: categories.map((category) => ({ type: "bar", stack: "all", name: category.replaceAll("_", " "), color: ink(category), data: shown.map((item) => find(item, category)?.value ?? null) })),
    }),
    stops: () => shown.flatMap((item, i) => categories.map((category, s) => [s, i, words(item, category)])),
  });
}

/** The time of each record's first run, lowest to highest as a line through the point. */
function addTimes(parent, records) {
  const groups = new Map();
  records.forEach((record, index) => { const run = record.runs[0];
    if (run && run.time.known) { const key = `${record.label}, ${run.time.operation}`; if (!groups.has(key)) groups.set(key, []); groups.get(key).push({ record, index, run }); } });
  for (const [label, items] of groups) {
    if (items.length < 2) continue;
    const words = (item) => `${recordName(item.record, item.index)}: ${nanoseconds(item.run.time.ns.median)} (${nanoseconds(item.run.time.ns.min)} to ${nanoseconds(item.run.time.ns.max)}) per ${item.run.time.operation}`;
    items.sort((a, b) => Date.parse(a.record.started) - Date.parse(b.record.started));
    const at = (item) => Date.parse(item.record.started) / 1000;
    const dated = items.every((item) => known(at(item))) && at(items[0]) < at(items[items.length - 1]);
    const x = (item, i) => (dated ? at(item) : i);
    const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ");
    addChart(parent, {
      title: `Time: ${label}`, height: 260,
      option: () => ({
        grid: { left: 80, right: 30, top: 20, bottom: 44 },
        xAxis: { type: "value", min: "dataMin", max: "dataMax", name: dated ? "started, UTC" : "in the order given", nameLocation: "middle", nameGap: 26, splitNumber: 4, ...axisLook(),
          axisLabel: { color: ink("ink"), hideOverlap: true, formatter: (value) => (dated ? day(value) : String(value + 1)) } },
        yAxis: { type: "value", scale: true, ...axisLook(), axisLabel: { color: ink("ink"), formatter: fineNanoseconds } },
        tooltip: tooltip((params) => (items[params.dataIndex] ? escaped(words(items[params.dataIndex])) : "")),
        // Points alone: what lies between two records nobody measured.
        series: [{ type: "line", data: items.map((item, i) => [x(item, i), item.run.time.ns.median]), color: seriesInk(0), symbol: "circle", symbolSize: 8, lineStyle: { width: 0 } },
          whiskers(items.map((item, i) => [x(item, i), 0, item.run.time.ns.min, item.run.time.ns.max]), ink("soft"))],
      }),
      stops: () => items.map((item, i) => [0, i, words(item)]),
    });
  }
}

/** All sweeps of the same quantity in one chart. */
function addAllCurves(parent, records) {
  for (const quantity of ["latency", "bandwidth"]) {
    const sweeps = records.map((record, index) => ({ record, index })).filter((item) => item.record.curves && item.record.curves.quantity === quantity && item.record.curves.series.length);
    if (sweeps.length < 2) continue;
    const series = sweeps.flatMap((item) => unfolded(item.record.curves).series.map((one) => ({ label: `${recordName(item.record, item.index)} ${one.label}`, points: one.points })));
    addCurves(parent, { axis: sweeps[0].record.curves.axis, quantity, series, knees: [] }, `All sweeps: ${quantity}`);
  }
}

/** Sorted by the column whose heading is clicked; a second click turns the order. */
function makeSortable(whole, keys) {
  const body = whole.querySelector("tbody");
  whole.querySelectorAll("thead th").forEach((heading, column) => {
    const button = el("button", { type: "button", class: "sort", onclick: () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      whole.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => keys[Number(row.dataset.record)][column];
      const order = (a, b) => (known(key(a)) && known(key(b)) ? key(a) - key(b) : String(key(a)).localeCompare(String(key(b))));
      [...body.children].sort((a, b) => (down ? -1 : 1) * order(a, b)).forEach((row) => body.append(row));
    } }, heading.textContent);
    heading.replaceChildren(button);
  });
}

/** The records as a table: by time, newest last; sortable, with a filter, and against a record of choice. */
function addComparison(page, records) {
  const section = el("section", {}, el("h2", {}, `${records.length} records`));
  page.append(section);
  const timeOf = (record) => { const run = record.runs[0]; return run && run.time.known ? run.time.ns.median : null; };
  const sameWork = (a, b) => a.label === b.label && a.runs[0]?.time.operation === b.runs[0]?.time.operation;
  const order = records.map((_, index) => index).sort((a, b) => records[a].started.localeCompare(records[b].started) || a - b);
  const against = new Map();
  const verdictOf = (record) => record.sentences[0] || record.runs[0]?.verdict || "";
  const rows = order.map((index) => {
    const record = records[index], change = el("td", {}, "-");
    against.set(index, change);
    return el("tr", { "data-record": String(index) }, el("td", { class: "words" }, el("a", { href: `#record-${index}`, style: "color:var(--accent)" }, `${index + 1}. ${headingOf(record)}`)),
      el("td", { class: "words" }, record.hostName || record.cpu || "?"), el("td", {}, record.started), el("td", {}, record.word),
      el("td", {}, known(timeOf(record)) ? nanoseconds(timeOf(record)) : "-"), change, el("td", { class: "words" }, verdictOf(record)));
  });
  const whole = table(["what", "host", "started", "source", "time", "against baseline", "verdict"], rows);
  makeSortable(whole, records.map((record, index) => [headingOf(record), record.hostName || record.cpu, record.started, record.word, timeOf(record), index, verdictOf(record)]));
  const filter = el("input", { type: "search", placeholder: "kernel, command, host ...", "aria-label": "Show only records with these words", oninput: () => {
    const words = filter.value.toLowerCase().split(/ +/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  } });
  const baseline = el("select", { "aria-label": "Baseline", onchange: () => {
    const chosen = records[Number(baseline.value)];
    records.forEach((record, index) => { const comparable = baseline.value !== "" && record !== chosen && sameWork(record, chosen) && known(timeOf(record)) && timeOf(chosen) > 0;
      against.get(index).textContent = record === chosen ? "baseline" : comparable ? `${timeOf(record) >= timeOf(chosen) ? "+" : ""}${(100 * (timeOf(record) / timeOf(chosen) - 1)).toFixed(1)}%` : "-"; });
  } }, el("option", { value: "" }, "none"), order.filter((index) => known(timeOf(records[index]))).map((index) => el("option", { value: String(index) }, recordName(records[index], index))));
  section.append(el("p", {}, el("label", {}, "Filter ", filter), " ", el("label", {}, "Baseline ", baseline), " ", el("span", { class: "soft" }, "medians of the same work; tmaprobe compare judges whether two differ beyond the noise")), whole);
  addLevelOneBars(section, records);
  addTimes(section, records);
  addAllCurves(section, records);
}
