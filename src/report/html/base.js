"use strict";
// What every part of the page uses: the data, elements, numbers, themes, and charts that keys can reach.

const report = JSON.parse(document.getElementById("data").textContent);

/** An element with attributes and children; texts become text nodes, never markup. */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "style") element.style.cssText = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}

/** Text for the charts' tooltips, which are markup. */
function escaped(text) {
  return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const known = (value) => typeof value === "number" && Number.isFinite(value);

function percent(fraction) {
  return known(fraction) ? `${(100 * fraction).toFixed(1)}%` : "?";
}

function three(value) {
  if (!known(value)) return "?";
  return Math.abs(value) >= 1e6 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

function scaled(value, units) {
  if (!known(value)) return "?";
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit + 1 < units.length) { value /= 1000; ++unit; }
  return `${three(value)} ${units[unit]}`;
}

/** For the ticks of an axis that begins far above zero, where three digits may be the same at each. */
function fineNanoseconds(value) {
  const whole = scaled(value, ["ns", "us", "ms", "s"]);
  const unit = whole.split(" ")[1];
  return known(value) ? `${Number((value / { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[unit]).toPrecision(5))} ${unit}` : "?";
}

const nanoseconds = (value) => scaled(value, ["ns", "us", "ms", "s"]);
const rate = (value) => scaled(value, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);

function bytes(value) {
  let unit = 0;
  while (value >= 1024 && unit < 4) { value /= 1024; ++unit; }
  return `${three(value)}${["", "K", "M", "G", "T"][unit]}`;
}

/** A colour of the style sheet as the current theme has it. */
function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const seriesInk = (index) => ink(`s${index % 6}`);
const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3], [2, 6], [12, 4]];
const symbols = ["circle", "rect", "triangle", "diamond", "pin", "emptyCircle"];

/** As in the style sheet, but spelt out: the charts measure their texts with it. */
const fonts = "system-ui, \"DejaVu Sans\", sans-serif";

/** All charts of the page: how to draw each again, for another theme or size. */
const charts = [];

/**
 * Adds a chart. `option()` gives what ECharts draws, with the current theme's colours. `stops` names the
 * points that the arrow keys visit, as [seriesIndex, dataIndex].
 */
function addChart(parent, { title, height, option, stops }) {
  const box = el("div", { class: "chart", tabindex: "0", role: "application", style: `height:${height}px`,
    "aria-label": `${title}. Chart; the arrow keys visit its points.` });
  const spoken = el("p", { class: "soft", "aria-live": "polite", style: "min-height:1.5em;margin:2px 0" });
  parent.append(el("figure", {}, el("figcaption", {}, title), box, spoken));
  const chart = { box, instance: null, draw: null };
  chart.draw = () => {
    if (!box.clientWidth) return;
    if (!chart.instance) {
      chart.instance = echarts.init(box, null, { renderer: "svg" });
      chart.instance.on("finished", () => { box.dataset.drawn = "yes"; });
    }
    chart.instance.setOption({ animation: false, textStyle: { fontFamily: fonts, color: ink("ink") },
      aria: { enabled: true, decal: { show: true } }, backgroundColor: "transparent", ...option() }, true);
  };
  let at = -1;
  const visit = (step) => {
    const points = stops();
    if (!points.length || !chart.instance) return;
    at = (at + step + points.length) % points.length;
    const [seriesIndex, dataIndex, words] = points[at];
    chart.instance.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
    spoken.textContent = words || "";
  };
  box.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    visit(steps[event.key]);
  });
  charts.push(chart);
  waiting.push(chart);
  if (waiting.length === 1) setTimeout(drawWaiting, 0);
}

/** Charts are drawn a few at a time, so that the page can be read and scrolled meanwhile. */
const waiting = [];
function drawWaiting() {
  const until = performance.now() + 40;
  while (waiting.length && performance.now() < until) waiting.shift().draw();
  if (waiting.length) setTimeout(drawWaiting, 0);
}

/** Ticks of a logarithmic axis over these values: powers of two for sizes, 1-2-5 otherwise. */
function logTicks(values, most, powersOfTwo) {
  const low = Math.min(...values), high = Math.max(...values);
  let ticks = [];
  if (powersOfTwo) for (let at = 2 ** Math.ceil(Math.log2(low)); at <= high; at *= 2) ticks.push(at);
  else for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) for (const step of [1, 2, 5]) if (decade * step >= low && decade * step <= high) ticks.push(decade * step);
  const stride = Math.ceil(ticks.length / most);
  return ticks.filter((_, i) => i % stride === 0);
}

const tooltip = (formatter) => ({ trigger: "item", confine: true, formatter, backgroundColor: ink("panel"),
  borderColor: ink("line"), textStyle: { color: ink("ink") }, extraCssText: "max-width:460px;white-space:normal" });

const axisLook = () => ({ axisLine: { lineStyle: { color: ink("soft") } }, axisLabel: { color: ink("ink") },
  nameTextStyle: { color: ink("soft") }, splitLine: { lineStyle: { color: ink("line"), opacity: 0.5 } } });

const legendLook = () => ({ textStyle: { color: ink("ink") }, inactiveColor: ink("line"), pageTextStyle: { color: ink("ink") }, type: "scroll", top: 2 });

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const chart of charts) chart.draw();
}

/** A table: first row of headings; cells are texts or elements. */
function table(headings, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, el("table", {},
    el("thead", {}, el("tr", {}, headings.map((text) => el("th", { scope: "col", ...(["status", "verdict", "formula", "host"].includes(text) ? { class: "words" } : {}) }, text)))),
    el("tbody", {}, rows.map((cells) => {
      if (cells instanceof HTMLElement) return cells;
      return el("tr", {}, cells.map((cell) => el("td", {}, cell)));
    }))));
}
