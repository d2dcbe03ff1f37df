"use strict";
// The top-down tree of one run: an icicle, and the table that says the same in numbers.

const definition = (name) => report.definitions[name] || {};

function bounds(metric) {
  return metric.bounds || "";
}

/** Everything that is known about one value, in one line. */
function metricWords(metric) {
  const about = definition(metric.name);
  if (metric.value === null) return `${metric.name}: ${metric.status}${metric.reason ? ` (${metric.reason})` : ""}`;
  let words = `${metric.name}: ${metric.text}${about.of ? ` of ${about.of}` : ""}, ${bounds(metric)}, ${metric.status}`;
  if (known(metric.counted)) words += `, counted ${percent(metric.counted)} of the time`;
  if (metric.bottleneck) words += ", on the bottleneck path";
  if (metric.flags) words += `, ${metric.flags.join(", ").replaceAll("_", " ")}: do not rely on it`;
  return words;
}

function metricTip(metric) {
  const about = definition(metric.name);
  return escaped(metricWords(metric)) + (about.description ? `<br><small>${escaped(about.description)}</small>` : "");
}

/**
 * Boxes of the icicle: a row per level, each node below its parent and as wide as its share of slots.
 * Where children are shares of something else, or sum to more than their parent, they divide their
 * parent's width in proportion.
 */
function icicleBoxes(metrics) {
  const nodes = metrics.filter((metric) => definition(metric.name).level > 0 && known(metric.value));
  const below = new Map();
  for (const metric of nodes) {
    const parent = definition(metric.name).parent;
    const key = metric.depth === 0 ? "" : parent;
    if (!below.has(key)) below.set(key, []);
    below.get(key).push(metric);
  }
  const boxes = [];
  const place = (key, from, width, row) => {
    if (row > 8) return;
    const children = below.get(key) || [];
    const shares = children.map((metric) => Math.max(0, metric.value));
    const sum = shares.reduce((a, b) => a + b, 0);
    const ofSlots = children.every((metric) => definition(metric.name).of === "slots");
    const scale = !sum ? 0 : (ofSlots && sum <= width * 1.001) || key === "" ? Math.min(1, width / sum) : Math.min(width, ofSlots ? width : width * Math.min(1, sum)) / sum;
    let at = from;
    children.forEach((metric, i) => {
      const wide = shares[i] * scale;
      boxes.push({ metric, from: at, width: wide, row });
      place(metric.name, at, wide, row + 1);
      at += wide;
    });
  };
  place("", 0, 1, 0);
  return boxes;
}

/** Black or white, whichever can be read on the colour. */
function readableOn(colour) {
  const [r, g, b] = echarts.color.parse(colour);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
}

function addIcicle(parent, run, title) {
  const boxes = icicleBoxes(run.metrics);
  if (!boxes.length) return;
  const rows = 1 + Math.max(...boxes.map((box) => box.row));
  const draw = (params, api) => {
    const box = boxes[params.dataIndex];
    const [left, top] = api.coord([box.from, box.row]);
    const [right, bottom] = api.coord([box.from + box.width, box.row + 1]);
    const wide = right - left;
    const category = definition(box.metric.name).category;
    const fill = ink(["frontend", "bad_speculation", "backend", "retiring"].includes(category) ? category : "other");
    const marked = box.metric.bottleneck;
    const label = `${marked ? "▶ " : ""}${box.metric.name}\n${box.metric.text}`;
    return {
      type: "rect",
      shape: { x: left, y: top, width: Math.max(wide, 0.5), height: bottom - top - 2 },
      style: { fill, opacity: 1 - 0.08 * box.row, stroke: marked ? ink("ink") : ink("page"), lineWidth: marked ? 3 : 1 },
      textContent: { style: { text: wide > 34 ? label : "", fill: readableOn(fill), fontSize: 12, fontWeight: marked ? "bold" : "normal",
        width: wide - 8, overflow: "truncate", lineHeight: 15 } },
      textConfig: { position: "inside" },
    };
  };
  addChart(parent, {
    title, height: 52 + 44 * rows,
    option: () => ({
      grid: { left: 8, right: 8, top: 6, bottom: 26 },
      xAxis: { type: "value", min: 0, max: 1, ...axisLook(), axisLabel: { color: ink("ink"), formatter: (v) => `${Math.round(100 * v)}%` } },
      yAxis: { type: "value", min: 0, max: rows, inverse: true, show: false },
      tooltip: tooltip((params) => metricTip(boxes[params.dataIndex].metric)),
      series: [{ type: "custom", renderItem: draw, encode: { x: [0, 1], y: 2 }, clip: true,
        data: boxes.map((box) => [box.from, box.from + box.width, box.row]) }],
    }),
    stops: () => boxes.map((box, i) => [0, i, metricWords(box.metric)]),
  });
}

/** A bar with a line from low to high across it. */
function meter(metric) {
  const cut = (value) => Math.min(1, Math.max(0, value));
  const whisker = known(metric.low) && known(metric.high)
    ? el("b", { style: `left:${100 * cut(metric.low)}%;width:${100 * (cut(metric.high) - cut(metric.low))}%` }) : null;
  return el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: `width:${100 * cut(metric.value)}%` }), whisker);
}

function metricRow(metric) {
  const about = definition(metric.name);
  const level = about.level ? String(about.level) : "";
  const row = el("tr", metric.bottleneck ? { class: "bottleneck" } : {});
  const name = el("td", { style: `padding-left:${16 * metric.depth}px`, title: about.description || "" }, `${metric.bottleneck ? "▶ " : ""}${metric.name}`);
  if (metric.value === null) {
    row.append(name, el("td", {}, level), el("td", { class: "words", colspan: "6" }, `${metric.status}${metric.reason ? `: ${metric.reason}` : ""}`));
    return row;
  }
  const flags = metric.flags ? ` ! ${metric.flags.join(", ").replaceAll("_", " ")}` : "";
  row.append(name, el("td", {}, level), el("td", {}, about.of ? meter(metric) : ""), el("td", {}, metric.text + (flags ? "!" : "")), el("td", {}, about.of || ""),
    el("td", {}, bounds(metric)), el("td", {}, known(metric.counted) ? percent(metric.counted) : "100%"), el("td", { class: "words" }, metric.status + flags));
  return row;
}

function metricTable(run) {
  return table(["metric", "level", "", "value", "of", "low..high", "counted", "status"], run.metrics.map(metricRow));
}

function formulas(runs) {
  const names = [...new Set(runs.flatMap((run) => run.metrics.map((metric) => metric.name)))];
  const rows = names.filter((name) => definition(name).formula).map((name) => el("tr", {},
    el("td", {}, name), el("td", { class: "words" }, el("code", {}, definition(name).formula)), el("td", { class: "words" }, definition(name).description)));
  if (!rows.length) return null;
  return el("details", {}, el("summary", {}, "Formulas"), table(["metric", "formula", ""], rows));
}
