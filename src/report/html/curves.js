"use strict";
// Curves over sizes with their knees, metrics under them, intervals over time, and the matrix of pairs.

/** Curves come as columns; charts want points of [x, value, low, high], and lines of metrics [x, value]. */
function unfolded(curves) {
  const points = ({ x, value, low, high, doubtful }) => x.map((at, i) => [at, value[i], low[i], high[i], Boolean(doubtful && doubtful[i])]);
  const line = ({ series, values, ...rest }) => ({ ...rest, label: curves.series[series].label,
    points: values.map((value, i) => [curves.series[series].points.x[i], value]).filter((point) => point[1] !== null) });
  return { ...curves, series: curves.series.map((one) => ({ label: one.label, points: points(one.points) })),
    metrics: Object.fromEntries(Object.entries(curves.metrics).map(([name, lines]) => [name, lines.map(line)])) };
}

const axisText = (curves, x) => (curves.axis === "size_bytes" ? bytes(x) : three(x));
const quantityText = (curves, value) => (curves.quantity === "bandwidth" ? rate(value) : nanoseconds(value));

function spansDecades(values) {
  const real = values.filter((value) => known(value) && value > 0);
  return real.length === values.length && real.length > 1 && Math.max(...real) / Math.min(...real) > 12;
}

/** A cause without its details: "L2 TLB reach 8M" of "L2 TLB reach 8M (2048 x 4k)". */
const shortCause = (knee) => knee.cause.replace(/ \(.*$/, "").replace(/;.*$/, "");

/** A vertical line for each knee: dashed where it was predicted, solid where it was found. */
function kneeLines(knees) {
  const lines = [];
  for (const knee of knees) {
    const same = lines.find((line) => line.kind === knee.kind && line.x === knee.x);
    if (same) same.pages = [same.pages, knee.pages].filter(Boolean).join(", ");
    else lines.push({ ...knee });
  }
  lines.sort((a, b) => a.x - b.x);
  return { symbol: ["none", "none"], silent: true, data: lines.map((knee, i) => ({
    xAxis: knee.x,
    lineStyle: { color: knee.kind === "predicted" ? ink("soft") : ink("mark"), type: knee.kind === "predicted" ? "dashed" : "solid", width: 1.5 },
    label: { formatter: `${knee.kind} ${knee.pages} ${shortCause(knee)}`.replace(/ +/g, " ").trim(), color: ink("ink"), fontSize: 11, position: "end", distance: [0, 4 + 13 * (i % 4)] },
  })) };
}

function xAxisOf(curves, xs) {
  const log = spansDecades(xs);
  const ticks = log ? { customValues: logTicks(xs, 12, curves.axis === "size_bytes") } : {};
  return { type: log ? "log" : "value", logBase: 2, min: Math.min(...xs), max: Math.max(...xs), ...axisLook(),
    name: curves.axis === "size_bytes" ? "size" : curves.axis, nameLocation: "middle", nameGap: 26,
    axisTick: ticks, axisLabel: { color: ink("ink"), formatter: (x) => axisText(curves, x), hideOverlap: true, ...ticks } };
}

/** The value axis of a curve: logarithmic, and no wider than the values, where they span decades. */
function yAxisOf(curves, values) {
  const title = { name: curves.quantity === "bandwidth" ? "bandwidth" : "time per operation", nameLocation: "middle", nameRotate: 90, nameGap: 66 };
  if (!spansDecades(values)) return { type: "value", ...title, ...axisLook(), axisLabel: { color: ink("ink"), formatter: (v) => quantityText(curves, v) } };
  const ticks = { customValues: logTicks(values, 9, false) };
  return { type: "log", ...title, min: Math.min(...values) * 0.85, max: Math.max(...values) * 1.15, ...axisLook(), axisTick: ticks,
    axisLabel: { color: ink("ink"), formatter: (v) => quantityText(curves, v), ...ticks } };
}

/** Low to high of each point as a vertical line. */
function whiskers(points, colour) {
  return { type: "custom", silent: true, clip: true, tooltip: { show: false }, z: 1, encode: { x: 0, y: [1, 2] }, data: points.filter((p) => known(p[2]) && known(p[3])).map((p) => [p[0], p[2], p[3]]),
    renderItem: (params, api) => {
      const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
      return { type: "line", shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] }, style: { stroke: colour, lineWidth: 2 } };
    } };
}

function addCurves(parent, curves, title) {
  if (!curves.series.length) return;
  const xs = curves.series.flatMap((series) => series.points.map((point) => point[0]));
  const values = curves.series.flatMap((series) => series.points.map((point) => point[1]));
  const words = (series, point) => `${series.label}, ${axisText(curves, point[0])}: ${quantityText(curves, point[1])} (${quantityText(curves, point[2])} to ${quantityText(curves, point[3])})${point[4] ? ", disturbed by other work" : ""}`;
  const few = curves.series.length <= 6;
  addChart(parent, {
    title, height: 400,
    option: () => ({
      legend: few ? legendLook() : { ...legendLook(), show: curves.series.length <= 40 },
      grid: { left: 84, right: curves.knees?.length ? 90 : 20, top: curves.knees?.length ? 100 : 40, bottom: 46 },
      xAxis: xAxisOf(curves, xs),
      yAxis: yAxisOf(curves, values),
      tooltip: tooltip((params) => { const series = curves.series[params.seriesIndex]; return series ? escaped(words(series, series.points[params.dataIndex])) : ""; }),
      series: [
        ...curves.series.map((series, i) => ({ type: "line", name: series.label, data: series.points.map((point) => (point[4] ? { value: [point[0], point[1]], symbol: "emptyCircle", symbolSize: 11, itemStyle: { color: ink("mark"), borderColor: ink("mark"), borderWidth: 2 } } : [point[0], point[1]])),
          color: seriesInk(i), symbol: symbols[i % symbols.length], symbolSize: few ? 7 : 4, showSymbol: curves.series.length <= 24,
          lineStyle: { width: few ? 2 : 1, type: dashes[i % dashes.length] }, markLine: i === 0 && curves.knees ? kneeLines(curves.knees) : undefined })),
        ...(few ? curves.series.map((series, i) => whiskers(series.points, seriesInk(i))) : []),
      ],
    }),
    stops: () => curves.series.flatMap((series, s) => series.points.map((point, i) => [s, i, words(series, point)])),
  });
  const doubtful = curves.series.flatMap((series) => series.points).filter((point) => point[4]).length;
  if (doubtful) parent.append(el("p", { class: "soft" }, el("span", { style: "color:var(--mark);font-weight:700" }, "○ "), `${doubtful} of ${values.length} points were disturbed by other work: fewer than three clean repetitions are left. They take no part in knees and verdicts.`));
}

/** Metrics of the same sweep, below the curve and over the same sizes. */
function addMetricCurves(parent, curves) {
  const zero = [];
  for (const [name, lines] of Object.entries(curves.metrics || {})) {
    if (lines.every((line) => line.points.every((point) => point[1] === 0))) { zero.push(name); continue; }
    const xs = lines.flatMap((line) => line.points.map((point) => point[0]));
    const perKilo = lines[0].unit === "per_kilo_instructions";
    const text = (line, value) => (line.share ? percent(value) : three(value));
    const words = (line, point) => `${line.label}, ${axisText(curves, point[0])}: ${name} ${text(line, point[1])}${perKilo ? " per 1000 instructions" : ""}, ${line.status}`;
    addChart(parent, {
      title: `${name}${perKilo ? ", per 1000 instructions" : ""} (${[...new Set(lines.map((line) => line.status))].join(", ")})`, height: 220,
      option: () => ({
        legend: legendLook(), grid: { left: 70, right: 20, top: 34, bottom: 46 }, xAxis: xAxisOf(curves, xs),
        yAxis: { type: "value", ...axisLook(), axisLabel: { color: ink("ink"), formatter: (v) => text(lines[0], v) } },
        tooltip: tooltip((params) => escaped(words(lines[params.seriesIndex], lines[params.seriesIndex].points[params.dataIndex]))),
        series: lines.map((line, i) => ({ type: "line", name: line.label, data: line.points, color: seriesInk(i), symbol: symbols[i % symbols.length],
          symbolSize: 6, lineStyle: { width: 2, type: dashes[i % dashes.length] } })),
      }),
      stops: () => lines.flatMap((line, s) => line.points.map((point, i) => [s, i, words(line, point)])),
    });
  }
  if (zero.length) parent.append(el("p", { class: "soft" }, `0 at every size: ${zero.join(", ")}`));
}

function curveTable(curves) {
  const rows = new Map();
  curves.series.forEach((series, s) => series.points.forEach((point) => {
    if (!rows.has(point[0])) rows.set(point[0], curves.series.map(() => "-"));
    rows.get(point[0])[s] = `${point[4] ? "~ " : ""}${quantityText(curves, point[1])}`;
  }));
  const ordered = [...rows.entries()].sort((a, b) => a[0] - b[0]);
  return el("details", {}, el("summary", {}, "The same as a table"),
    table([curves.axis === "size_bytes" ? "size" : curves.axis, ...curves.series.map((series) => series.label)], ordered.map(([x, cells]) => [axisText(curves, x), ...cells])));
}

/** The victim against what it was given: time per operation, and what the monitors saw, over one control. */
function addAllocations(parent, runs) {
  const alone = runs.find((run) => run.state === "alone");
  for (const control of [...new Set(runs.map((run) => run.allocation?.control).filter(Boolean))]) {
    const steps = runs.filter((run) => run.allocation?.control === control && run.time.known);
    if (!steps.length) continue;
    const what = control === "l3" ? "cache bitmap" : "bandwidth cap";
    const axis = `${what}, ${steps[0].allocation.unit}`;
    const xs = steps.map((run) => run.allocation.value);
    const times = steps.map((run) => [run.allocation.value, run.time.ns.median, run.time.ns.low, run.time.ns.high]);
    const curves = { axis, quantity: "latency", knees: [], series: [{ label: "with this share", points: times }] };
    if (alone?.time.known) curves.series.push({ label: "alone, without a limit", points: [...new Set([Math.min(...xs), Math.max(...xs)])].map((x) => [x, alone.time.ns.median, alone.time.ns.low, alone.time.ns.high]) });
    addCurves(parent, curves, `Victim's time per ${steps[0].time.operation} against the ${what}`);
    addMonitorCurves(parent, curves, steps, what);
  }
}

/** Occupancy in one chart, what was moved in another. */
function addMonitorCurves(parent, curves, steps, what) {
  const xs = steps.map((run) => run.allocation.value);
  for (const [quantity, wanted] of [["occupancy", (title) => title === "occupancy"], ["memory bandwidth", (title) => title !== "occupancy"]]) {
    const value = (run, title) => run.monitors.find((one) => one.title === title)?.value ?? null;
    const lines = steps[0].monitors.map((one) => one.title).filter(wanted).map((title) => ({ title, points: steps.map((run) => [run.allocation.value, value(run, title)]).filter((point) => point[1] !== null) })).filter((line) => line.points.length);
    if (!lines.length) continue;
    const held = quantity === "occupancy";
    const text = (number) => (held ? bytes(number) : rate(number));
    const most = Math.max(...lines.flatMap((line) => line.points.map((point) => point[1])));
    // Powers of two between the ticks, for bytes.
    const interval = held && most > 0 ? 2 ** Math.round(Math.log2(most / 4)) : undefined;
    const words = (line, point) => `${three(point[0])} ${steps[0].allocation.unit}: ${line.title} ${text(point[1])}`;
    addChart(parent, {
      title: `Victim's ${quantity} against the ${what}`, height: 260,
      option: () => ({
        legend: lines.length > 1 ? legendLook() : undefined, grid: { left: 80, right: 20, top: lines.length > 1 ? 36 : 20, bottom: 46 }, xAxis: xAxisOf(curves, xs),
        yAxis: { type: "value", min: 0, interval, max: interval && interval * Math.ceil(most / interval), ...axisLook(), axisLabel: { color: ink("ink"), formatter: text } },
        tooltip: tooltip((params) => escaped(words(lines[params.seriesIndex], lines[params.seriesIndex].points[params.dataIndex]))),
        series: lines.map((line, i) => ({ type: "line", name: line.title, data: line.points, color: seriesInk(i), symbol: symbols[i], symbolSize: 7, lineStyle: { width: 2, type: dashes[i] } })),
      }),
      stops: () => lines.flatMap((line, s) => line.points.map((point, i) => [s, i, words(line, point)])),
    });
  }
}

/** The time of each repetition in the order in which they ran; those that other work disturbed are hollow. */
function addRepetitions(parent, run) {
  const times = run.repetitions;
  if (times.length < 2) return;
  const disturbed = new Set(run.disturbed);
  const words = (i) => `repetition ${i + 1}: ${nanoseconds(times[i])} per ${run.time.operation}, ${disturbed.has(i) ? "disturbed" : "clean"}`;
  const points = (wanted) => times.map((time, i) => [i, time]).filter(([i]) => disturbed.has(i) === wanted);
  const series = [["clean", points(false), "circle", ink("s0")], ["disturbed", points(true), "emptyCircle", ink("mark")]].filter((one) => one[1].length);
  addChart(parent, {
    title: `Time of each repetition, per ${run.time.operation}`, height: 190,
    option: () => ({
      legend: legendLook(), grid: { left: 74, right: 16, top: 34, bottom: 40 },
      xAxis: { type: "value", min: 0, max: times.length - 1, name: "repetition", nameLocation: "middle", nameGap: 24, ...axisLook(), axisLabel: { color: ink("ink"), formatter: (at) => String(at + 1) } },
      yAxis: { type: "value", scale: true, ...axisLook(), axisLabel: { color: ink("ink"), formatter: fineNanoseconds } },
      tooltip: tooltip((params) => escaped(words(params.value[0]))),
      series: series.map(([name, data, symbol, color]) => ({ type: "line", name, data, color, symbol, symbolSize: 7, lineStyle: { width: 0 } })),
    }),
    stops: () => series.flatMap(([, data], s) => data.map((point, i) => [s, i, words(point[0])])),
  });
}

function addIntervals(parent, run) {
  if (!run.intervals) return;
  const names = Object.keys(run.intervals.lines);
  const line = (name) => run.intervals.at.map((at, i) => [at ?? i, run.intervals.lines[name][i] ?? null]);
  const words = (name, point) => `${name} at ${three(point[0])} s: ${three(point[1])}`;
  addChart(parent, {
    title: "Over time", height: 280,
    option: () => ({
      legend: legendLook(), grid: { left: 60, right: 20, top: 40, bottom: 40 },
      xAxis: { type: "value", name: "seconds", nameLocation: "middle", nameGap: 24, min: "dataMin", max: "dataMax", ...axisLook() },
      yAxis: { type: "value", ...axisLook() },
      tooltip: tooltip((params) => escaped(words(params.seriesName, params.value))),
      series: names.map((name, i) => ({ type: "line", name, data: line(name), color: seriesInk(i), symbol: symbols[i % symbols.length], symbolSize: 5, lineStyle: { type: dashes[i % dashes.length] } })),
    }),
    stops: () => names.flatMap((name, s) => line(name).map((point, i) => [s, i, words(name, point)])),
  });
}

function addPairs(parent, pairs) {
  if (!Array.isArray(pairs.cpus) || !Array.isArray(pairs.ns)) return;
  const names = pairs.cpus.map(String);
  const cells = [];
  pairs.ns.forEach((row, y) => Array.isArray(row) && row.forEach((value, x) => { if (known(value)) cells.push([x, y, value]); }));
  if (!cells.length) return;
  const values = cells.map((cell) => cell[2]);
  const least = Math.min(...values), most = Math.max(...values);
  // Colour tells the distances apart, where there are several.
  const shade = (value) => (most > least * 1.1 ? `background:color-mix(in srgb, var(--s0) ${Math.round(8 + 62 * (value - least) / (most - least))}%, var(--page))` : "");
  const words = (cell) => `CPU ${names[cell[1]]} to ${names[cell[0]]}: ${nanoseconds(cell[2])}`;
  const of = new Map(cells.map((cell) => [`${cell[1]},${cell[0]}`, cell]));
  parent.append(el("h3", {}, "Locked increment between two CPUs, ns"), table(["CPU", ...names], names.map((name, y) => el("tr", {}, el("th", { scope: "row" }, name),
    names.map((_, x) => { const cell = of.get(`${y},${x}`); return cell ? el("td", { class: "pair", title: words(cell), style: shade(cell[2]) }, three(cell[2])) : el("td", {}, "-"); })))));
  if (Array.isArray(pairs.classes))
    parent.append(table(["distance", "pairs", "median ns", "min", "max", "coherency ns", "cycles"], pairs.classes.map((item) => [String(item.class),
      three(item.pairs), three(item.median_ns), three(item.min_ns), three(item.max_ns), known(item.coherency_ns) ? three(item.coherency_ns) : "-", known(item.coherency_cycles) ? three(item.coherency_cycles) : "-"])));
  if (pairs.alone) parent.append(el("p", {}, `One core: ${nanoseconds(pairs.alone.locked)} per increment with the lock, ${nanoseconds(pairs.alone.plain)} without`));
  addCpi(parent, pairs.cpi);
}

/** CPI(f): what coherency does to a program in which a share f of the instructions meets it. */
function addCpi(parent, cpi) {
  if (!cpi || !Array.isArray(cpi.shares) || typeof cpi.by_class !== "object" || !cpi.by_class) return;
  const names = Object.keys(cpi.by_class).filter((name) => Array.isArray(cpi.by_class[name]));
  const words = (name, point) => `${name}: CPI ${three(point[1])} when ${percent(point[0])} of instructions meet it`;
  const line = (name) => cpi.shares.map((share, i) => [share, cpi.by_class[name][i]]);
  addChart(parent, {
    title: "CPI by the share of instructions that meet coherency traffic", height: 260,
    option: () => ({
      legend: legendLook(), grid: { left: 60, right: 20, top: 40, bottom: 40 },
      xAxis: { type: "value", ...axisLook(), axisLabel: { color: ink("ink"), formatter: percent } }, yAxis: { type: "value", name: "CPI", scale: true, ...axisLook() },
      tooltip: tooltip((params) => escaped(words(params.seriesName, params.value))),
      series: names.map((name, i) => ({ type: "line", name, data: line(name), color: seriesInk(i), symbol: symbols[i % symbols.length], symbolSize: 7, lineStyle: { type: dashes[i % dashes.length] } })),
    }),
    stops: () => names.flatMap((name, s) => line(name).map((point, i) => [s, i, words(name, point)])),
  });
}
