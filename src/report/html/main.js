"use strict";
// Puts the page together: the comparison of several records, then each record; what is closed is drawn
// when it is opened.

/** What was measured, as a heading: the kernel or command, and beside whom. */
function headingOf(record) {
  if (record.pairs) return `CPU pairs: ${record.label}`;
  if (record.aggressor) return `${record.victim || record.label} beside ${record.aggressor}`;
  return record.label || record.experiment;
}

function timeWords(time) {
  if (!time.known) return `Time unavailable: ${time.reason}`;
  let words = `${nanoseconds(time.ns.median)} per ${time.operation}`;
  if (time.rate) words += `, ${rate(time.rate.median)}`;
  if (known(time.cyclesPerByte)) words += `, ${three(time.cyclesPerByte)} cycles/byte`;
  return words;
}

function spreadWords(time) {
  if (!time.known) return "";
  if (time.ns.count === 1) return "one run: how far another would differ is not known";
  return `median of ${time.ns.count}, ${nanoseconds(time.ns.min)} to ${nanoseconds(time.ns.max)}, MAD ${nanoseconds(time.ns.mad)}; ${time.clean} clean, ${time.disturbed} disturbed`;
}

/** The answer behind all that makes it less than measured; of one run in a record of several, by itself. */
function addVerdict(parent, status, sentence) {
  parent.append(el("p", { class: "verdict" }, el("strong", {}, status), sentence ? `: ${sentence}` : ""));
}

/** What changes would win: bars of the speed-ups, as parts of the largest that is possible. */
function addWhatIf(parent, run) {
  if (!run.whatIf) return;
  const most = Math.max(1, ...run.whatIf.answers.map((answer) => answer.high));
  const bar = (answer) => meter({ value: answer.value / most, low: answer.low / most, high: answer.high / most });
  parent.append(el("h3", {}, "What if"), el("p", {}, run.whatIf.sentence),
    table(["as fast if", "", "times", "low..high", "then bound by"], run.whatIf.answers.map((answer) =>
      [answer.what, bar(answer), answer.value.toFixed(2), `${answer.low.toFixed(2)}..${answer.high.toFixed(2)}`, answer.then])));
  if (run.whatIf.mappings.length) parent.append(table(["in pages of 2 MiB, alone", "", "times", "low..high", "by"], run.whatIf.mappings.map((mapping) =>
    [mapping.what, bar(mapping), mapping.value.toFixed(2), `${mapping.low.toFixed(2)}..${mapping.high.toFixed(2)}`, el("code", {}, mapping.way)])));
}

function addRun(parent, run, alone) {
  if (!alone) parent.append(el("h3", {}, run.state || `${run.label}${run.pages ? `, pages ${run.pages}` : ""}`));
  if (!alone && run.verdict) parent.append(el("p", {}, run.verdict));
  parent.append(el("p", {}, el("strong", {}, timeWords(run.time)), " ", el("span", { class: "soft" }, spreadWords(run.time))));
  if (run.clock) parent.append(el("p", { class: run.doubtful ? "warning" : "soft" }, `Clock: ${run.clock}`));
  if (run.metrics.length) addIcicle(parent, run, `Top-down, share of slots (${[...new Set(run.metrics.filter((metric) => metric.value !== null).map((metric) => metric.status))].join(", ")})`);
  addRepetitions(parent, run);
  if (run.metrics.length) parent.append(alone ? metricTable(run) : el("details", {}, el("summary", {}, "All values"), metricTable(run)));
  if (run.obtained) parent.append(el("p", { class: "soft" }, `Memory: ${run.obtained}${run.effective ? `, held by the TLB as ${run.effective}` : ""}`));
  if (run.monitors.length) parent.append(el("p", { class: "soft" }, `Monitored by resctrl: ${run.monitors.map((one) => `${one.title} ${one.text}`).join(", ")}`));
  if (Array.isArray(run.beside)) parent.append(el("h3", {}, "The second source beside it"), table(["metric", "value", "low", "high", "status"],
    run.beside.map((item) => [String(item.name), known(item.value) ? three(item.value) : "-", three(item.low), three(item.high), String(item.status)])));
  addWhatIf(parent, run);
  addIntervals(parent, run);
  if (run.steps.length && run.metrics.length) parent.append(el("h3", {}, "Next"), el("ol", {}, run.steps.map((step) => el("li", {}, step.what, step.command ? el("pre", {}, step.command) : null))));
}

function addRecord(parent, record) {
  const alone = record.runs.length === 1;
  // Of experiments that time, the answer is of times, which are measured whatever the counts beside them are.
  const said = record.sentences.map((sentence) => (sentence.endsWith(".") ? sentence : `${sentence}.`)).join(" ");
  const timed = record.sentences.length > 0 && record.word !== "time only";
  if (record.partial) parent.append(el("p", { class: "warning" }, "Interrupted: this is what was measured until then."));
  if (timed) {
    parent.append(el("p", { class: "verdict" }, said));
    if (record.runs.length && record.runs[0].verdict) addVerdict(parent, record.status, record.runs[0].verdict);
    else parent.append(el("p", {}, `Time is measured; counts: ${record.status}.`));
  } else {
    addVerdict(parent, record.status, said || (record.runs.length ? record.runs[0].verdict : ""));
  }
  if (record.curves) {
    const curves = unfolded(record.curves);
    addCurves(parent, curves, `${record.label}: ${curves.quantity}`);
    if (curves.knees.length) parent.append(el("ul", {}, curves.knees.map((knee) => el("li", {}, knee.text))));
    addMetricCurves(parent, curves);
    if (curves.series.length) parent.append(curveTable(curves));
  }
  if (record.pairs) addPairs(parent, record.pairs);
  // The runs of a matrix are its cells; they are kept at hand, not spread out.
  if (record.runs.length > 1 && !record.pairs) {
    addStateTimes(parent, record.runs);
    addAllocations(parent, record.runs);
    addModeBars(parent, record.runs);
    parent.append(sideBySide(record.runs));
  }
  const grid = el("div", { class: record.runs.length > 1 ? "grid" : "" });
  parent.append(record.pairs ? el("details", {}, el("summary", {}, "Every run"), grid) : grid);
  for (const run of record.runs) {
    const cell = el("div", {});
    grid.append(cell);
    addRun(cell, run, alone);
  }
  for (const warning of record.warnings) parent.append(el("p", { class: "warning" }, `Warning: ${warning.what}${warning.hint ? ` (${warning.hint})` : ""}`));
  parent.append(formulas(record.runs) || "");
  parent.append(el("h3", {}, "Where this comes from"), el("p", {}, el("span", { class: `badge ${record.word}` }, record.word), ` ${record.source}`),
    el("p", { class: "soft" }, `${record.word === "replayed" ? "Read on" : "Host"}: ${record.host}${record.started ? `. Started ${record.started}` : ""}. tmaprobe ${record.version}`));
  if (record.command) parent.append(el("h3", {}, "How to reproduce"), el("pre", {}, record.command));
}

/** A record that is drawn when it is first opened. */
function addFolded(page, record, index, open) {
  const body = el("div", {});
  const fold = el("details", { class: "record", id: `record-${index}` }, el("summary", {}, el("h2", {}, `${headingOf(record)} (${record.word}) on ${recordName(record, index)}`)), body);
  page.append(fold);
  let drawn = false;
  const draw = () => { if (fold.open && !drawn) { drawn = true; addRecord(body, record); } };
  fold.addEventListener("toggle", draw);
  if (open) { fold.open = true; draw(); }
}

function start() {
  const page = document.getElementById("page");
  const records = report.records;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  page.append(el("header", {}, el("h1", {}, "tmaprobe report"),
    el("button", { type: "button", onclick: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") }, "Dark or light")));
  if (records.length === 1) {
    page.append(el("h2", {}, headingOf(records[0])));
    addRecord(page, records[0]);
  } else {
    addComparison(page, records);
    records.forEach((record, index) => addFolded(page, record, index, records.length <= 12));
    window.addEventListener("hashchange", () => { const fold = document.getElementById(location.hash.slice(1)); if (fold && fold.tagName === "DETAILS") fold.open = true; });
  }
  window.addEventListener("resize", () => { for (const chart of charts) if (chart.instance) chart.instance.resize(); });
  let before = "";
  window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; setTheme("light"); });
  window.addEventListener("afterprint", () => setTheme(before));
}

start();
