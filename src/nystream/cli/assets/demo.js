// The page of `nystream demo`: figures come as server-sent events, the first one with all that there is.
import { Chart } from "./chart.js";
import { by, bytes, count, el, number, put, share, svg } from "./shown.js";

const LEFT = 40;
const BOTTOM = 20;
const HEIGHT = 240;
const kw = (value) => (Number.isFinite(value) ? `${value.toFixed(2)} kW` : "–");

const shown = { readings: [], rows: [], changes: [], alarms: [], shares: {}, noise: 0, kept: 2000, shown: 160 };
let errors;
let pending = false;

const events = new EventSource("/events");
events.onopen = () => {
  // A stream that begins again begins with everything.
  shown.readings = [];
  shown.rows = [];
  connect("live", "live");
};
events.onerror = () => connect("away", "The demo does not answer. Start it again with: nystream demo");
events.onmessage = (event) => {
  const update = JSON.parse(event.data);
  const before = shown.alarms.length;
  shown.readings = [...shown.readings, ...update.readings].slice(-shown.kept);
  shown.rows = [...shown.rows, ...update.rows].slice(-shown.shown);
  for (const name of ["changes", "alarms", "shares", "noise", "kept", "shown"])
    if (update[name] !== undefined) shown[name] = update[name];
  if (shown.alarms.length > before) put("news", shown.alarms[shown.alarms.length - 1].text);
  if (update.stopped) {
    events.close();
    by("replace").disabled = true;
    connect("away", "The demo has ended. Start it again with: nystream demo");
  }
  if (!pending) requestAnimationFrame(draw);
  pending = true;
};

by("replace").onclick = async () => {
  await fetch("/replace", { method: "POST", headers: { "X-Nystream-Demo": "1" } });
  put("change-more", "The next rows come from the other heating.");
};

function connect(state, text) {
  by("connection").dataset.state = state;
  put("connection", text);
}

function draw() {
  pending = false;
  const last = shown.readings[shown.readings.length - 1];
  if (!last) return;
  put("error", kw(last.model));
  put("error-than", `repeating the last load ${kw(last.last)} · noise ${kw(shown.noise)}`);
  put("inside", share(last.inside));
  put("rows", count(last.row));
  put("rows-more", `${number(last.milliseconds)} ms per row · ${bytes(last.bytes)}`);
  put("shown", String(shown.rows.length));
  drawLast();
  drawErrors();
  drawShares();
  drawAlarms();
}

// Loads as dots, predictions as a line, intervals as a band.
function drawLast() {
  const host = by("last");
  const width = host.clientWidth;
  const values = shown.rows.flatMap((one) => [one.y, one.p, one.low, one.high]).filter(Number.isFinite);
  if (!width || !values.length) return;
  host.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  host.setAttribute("height", HEIGHT);
  const sorted = shown.rows.map((one) => one.y).sort((a, b) => a - b);
  const margin = 0.35 * (sorted[sorted.length - 1] - sorted[0]) + 1;
  const low = Math.max(Math.min(...values), sorted[0] - margin);
  const high = Math.min(Math.max(...values), sorted[sorted.length - 1] + margin);
  const first = shown.rows[0].row;
  const across = (row) => LEFT + ((row - first) / Math.max(shown.rows.length - 1, 1)) * (width - LEFT - 8);
  const up = (value) =>
    HEIGHT - BOTTOM - ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (HEIGHT - BOTTOM - 8);
  const point = (row, value) => `${across(row).toFixed(1)} ${up(value).toFixed(1)}`;
  const parts = [];
  const step = high - low > 30 ? 10 : 5;
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    parts.push(
      svg("line", { class: "rule", x1: LEFT, x2: width - 8, y1: up(value), y2: up(value) }),
      svg("text", { class: "tick", x: LEFT - 8, y: up(value) + 4, "text-anchor": "end", text: String(value) }),
    );
  }
  const every = width < 600 ? 40 : 20;
  for (const one of shown.rows.filter(({ row }) => row % every === 0 && across(row) < width - 16))
    parts.push(
      svg("text", { class: "tick", x: across(one.row), y: HEIGHT - 4, "text-anchor": "middle", text: count(one.row) }),
    );
  const banded = shown.rows.filter((one) => Number.isFinite(one.low));
  if (banded.length) {
    const over = banded.map((one) => point(one.row, one.high));
    const under = banded.map((one) => point(one.row, one.low)).reverse();
    parts.push(svg("path", { class: "band", d: `M${[...over, ...under].join("L")}Z` }));
  }
  parts.push(
    svg("path", { class: "line model strong", d: `M${shown.rows.map((one) => point(one.row, one.p)).join("L")}` }),
    ...shown.rows.map((one) => svg("circle", { class: "label", cx: across(one.row), cy: up(one.y), r: 2 })),
  );
  for (const row of shown.changes.filter((found) => found >= first))
    parts.push(
      svg(
        "g",
        { class: "mark rollback" },
        svg("title", { text: "the heating was replaced" }),
        svg("line", { x1: across(row), x2: across(row), y1: 4, y2: HEIGHT - BOTTOM }),
      ),
    );
  host.replaceChildren(...parts);
}

function drawErrors() {
  errors ??= new Chart(by("errors"), "Error over the last 200 rows", { height: 280, format: (found) => number(found) });
  const line = (name, key, shade, more = {}) => ({ name, shade, y: shown.readings.map((one) => one[key]), ...more });
  const first = shown.readings[0].row;
  errors.update({
    x: shown.readings.map((one) => one.row),
    series: [
      line("repeat the last load", "last", "last", { dash: "5 3" }),
      line("learns only 1,000 rows", "frozen", "mean"),
      line("learns every row", "model", "model", { strong: true }),
    ],
    reference: shown.noise,
    marks: [
      ...shown.changes.map((x) => ({ x, kind: "rollback", text: `row ${count(x)}: the heating was replaced` })),
      ...shown.alarms.map(({ row, text }) => ({ x: row, kind: "alarm", text })),
    ].filter(({ x }) => x >= first),
  });
}

function drawShares() {
  const found = Object.entries(shown.shares).sort((a, b) => b[1] - a[1]);
  by("relied-none").hidden = found.length > 0;
  by("relied").replaceChildren(
    ...found.map(([name, part]) => {
      const bar = el("i", { class: "bar" });
      bar.style.setProperty("--part", part);
      return el("li", {}, el("span", { class: "name", text: name }), el("span", { text: share(part) }), bar);
    }),
  );
}

function drawAlarms() {
  by("alarms-none").hidden = shown.alarms.length > 0;
  const items = [...shown.alarms].reverse().map(({ row, text }) => {
    return el("li", { class: "alarm" }, el("span", { text: `row ${count(row)}` }), el("span", { text }));
  });
  by("alarms").replaceChildren(...items);
}
