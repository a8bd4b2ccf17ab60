// Charts as SVG: lines or stacked areas over rows, with marks; a cursor for pointer and keyboard whose values stand in
// the legend; and the same numbers as a table for whoever asks.
import { count, el, svg, when } from "./shown.js";

const LEFT = 52;
const RIGHT = 10;
const TOP = 14;
const BOTTOM = 22;
const TABLE_ROWS = 20;

const finite = (values) => values.filter((value) => Number.isFinite(value));
const tidy = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });

function ticks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) || power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) found.push(k * step || 0); // never -0
  return found;
}

// Steps of a time axis, in seconds: seconds, minutes, hours, days.
const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000];
const HOUR = 3600;
const DAY = 86400;

function timeTicks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  const step = STEPS.find((size) => size >= rough) || STEPS[STEPS.length - 1];
  const away = new Date(low * 1000).getTimezoneOffset() * 60; // midnights and full hours are those of the reader
  const found = [];
  for (let k = Math.ceil((low - away) / step); k * step + away <= high; k++) found.push(k * step + away);
  return found;
}

function timeLabel(at, span) {
  const date = new Date(at * 1000);
  const pad = (value) => String(value).padStart(2, "0");
  const day = `${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  if (span > 3 * DAY) return day;
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  if (span > DAY) return `${day} ${clock}`;
  return span > HOUR / 6 ? clock : `${clock}:${pad(date.getSeconds())}`;
}

// The places whose labels differ from the one before.
const distinct = (labels) => labels.map((label, k) => k === 0 || label !== labels[k - 1]);

function logTicks(low, high) {
  const factors = high / low > 200 ? [1] : [1, 2, 5];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

// Where values are drawn: {to, ticks}. The few highest do not flatten all others: they are cut off.
function scale(values, { log, top, floor = 0 }, height) {
  const sorted = finite(values).sort((a, b) => a - b);
  const foot = height - BOTTOM;
  const limit = top ?? (sorted[Math.floor(0.985 * (sorted.length - 1))] ?? 1) * 1.1;
  if (log) {
    const positive = sorted.filter((value) => value > 0);
    const low = (positive[0] ?? 0.1) / 1.3;
    const high = Math.max(positive[positive.length - 1] ?? 1, low * 2) * 1.15;
    const to = (value) =>
      foot - (Math.log(Math.min(Math.max(value, low), high) / low) / Math.log(high / low)) * (foot - TOP);
    return { to, ticks: logTicks(low, high) };
  }
  const high = limit > floor ? limit : floor + 1;
  const to = (value) => foot - ((Math.min(Math.max(value, floor), high) - floor) / (high - floor)) * (foot - TOP);
  return { to, ticks: ticks(floor, high, Math.max(2, Math.floor(height / 55))) };
}

export class Chart {
  // host: an element with a figure's content; what: its name for whoever cannot see it.
  constructor(host, what, { height = 260, stack = false, format = String } = {}) {
    this.what = what;
    this.height = height;
    this.stack = stack;
    this.format = format;
    this.given = null;
    this.at = null;
    this.svg = svg("svg", { class: "chart", tabindex: "0", role: "img" });
    this.legend = el("ul", { class: "legend" });
    this.body = el("tbody");
    this.head = el("tr");
    this.more = el(
      "details",
      { class: "numbers" },
      el("summary", { text: "As a table" }),
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": `${what}, as a table` },
        el("table", {}, el("caption", { class: "unseen", text: what }), el("thead", {}, this.head), this.body),
      ),
    );
    this.more.ontoggle = () => this.tabulate();
    host.replaceChildren(this.legend, this.svg, this.more);
    this.listen();
    let width = 0;
    new ResizeObserver(() => {
      if (host.clientWidth !== width) this.draw();
      width = host.clientWidth;
    }).observe(host);
  }

  // A place on the axis in words.
  place(value) {
    return this.given.time ? when(value) : `row ${count(value)}`;
  }

  // x: rows, or (with time: true) seconds since 1970, that grow; series: [{name, shade, y, dash, plain}]; marks: [{x, kind, text}].
  update(given) {
    this.given = given;
    this.draw();
    this.tabulate();
  }

  draw() {
    const { given, height } = this;
    const width = this.svg.clientWidth || this.svg.parentElement.clientWidth;
    if (!given || !width) return;
    const { x, series, marks = [], reference } = given;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    const first = given.from ?? x[0] ?? 0;
    const last = Math.max(x[x.length - 1] ?? 1, first + 1);
    this.across = (value) => LEFT + ((value - first) / (last - first)) * (width - LEFT - RIGHT);
    this.heights = this.stack ? stacked(series) : series.map((one) => one.y);
    const all = this.stack ? [0, 1] : this.heights.flat();
    const { to, ticks: lines } = scale(reference === undefined ? all : [...all, reference], given, height);
    this.to = to;
    const parts = [...this.grid(lines, to, width), ...this.feet(first, last, width)];
    if (reference !== undefined) {
      parts.push(
        svg("line", { class: "reference", x1: LEFT, x2: width - RIGHT, y1: to(reference), y2: to(reference) }),
      );
    }
    series.forEach((one, k) => parts.push(...this.shape(one, k, x)));
    this.cursor = svg("g", { class: "cursor" });
    this.svg.replaceChildren(...parts, ...marks.map((mark) => this.mark(mark)), this.cursor);
    const latest = series.map((one) => `${one.name} ${this.format(one.y[one.y.length - 1])}`).join(", ");
    const marked = marks.length ? `; ${marks.length} marks` : "";
    this.svg.setAttribute(
      "aria-label",
      `${this.what}, up to ${this.place(x[x.length - 1] ?? last)}: ${latest}${marked}. Arrow keys move along it.`,
    );
    this.read();
  }

  grid(lines, to, width) {
    const labels = lines.map((value) => this.format(value, true));
    const shown = distinct(labels);
    return lines.flatMap((value, k) => [
      svg("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: to(value), y2: to(value) }),
      svg("text", {
        class: "tick",
        x: LEFT - 8,
        y: to(value) + 4,
        "text-anchor": "end",
        text: shown[k] ? labels[k] : "",
      }),
    ]);
  }

  feet(first, last, width) {
    const { x: places, time } = this.given;
    const most = Math.max(2, Math.floor(width / (time ? 95 : 75)));
    let values = time ? timeTicks(first, last, most) : ticks(first, last, most).filter(Number.isInteger);
    if (places.length === 1) values = [places[0]]; // one reading has one place
    const labels = values.map((value) => (time ? timeLabel(value, last - first) : tidy.format(value)));
    const shown = distinct(labels);
    return values.map((value, k) => {
      const x = this.across(value);
      const anchor = x > width - 30 ? "end" : x < LEFT + 20 ? "start" : "middle";
      const text = shown[k] ? labels[k] : "";
      return svg("text", { class: "tick", x, y: this.height - 5, "text-anchor": anchor, text });
    });
  }

  shape(one, k, x) {
    const points = [];
    this.heights[k].forEach((value, i) => {
      if (Number.isFinite(value)) points.push([this.across(x[i]).toFixed(1), this.to(value).toFixed(1)]);
    });
    if (!points.length) return [];
    const dot = points.length === 1 ? "h4" : ""; // a single reading can be seen, too
    const line = points.map((point, i) => `${i ? "L" : "M"}${point.join(" ")}`).join("") + dot;
    if (!this.stack) {
      return [
        svg("path", {
          class: `line ${one.shade} ${one.strong ? "strong" : ""}`,
          d: line,
          "stroke-dasharray": one.dash,
        }),
      ];
    }
    const below = k ? this.heights[k - 1] : null;
    const back = x
      .map((at, i) => `L${this.across(at).toFixed(1)} ${this.to(below ? below[i] : 0).toFixed(1)}`)
      .reverse();
    return [svg("path", { class: `area ${one.shade}`, d: `${line}${back.join("")}Z` })];
  }

  mark({ x, kind, text }) {
    const at = this.across(x).toFixed(1);
    return svg(
      "g",
      { class: `mark ${kind}`, "data-text": text },
      svg("title", { text }),
      svg("line", { x1: at, x2: at, y1: TOP - 4, y2: this.height - BOTTOM }),
      svg("path", { d: `M${at} ${TOP + 2}l-5 -9h10z` }),
    );
  }

  // -- the cursor and the legend ------------------------------------------------------------------------------------
  listen() {
    this.svg.onpointermove = (event) => {
      const place = event.clientX - this.svg.getBoundingClientRect().left;
      if (this.given)
        this.point(
          nearest(
            this.given.x.map((value) => this.across(value)),
            place,
          ),
        );
    };
    this.svg.onpointerleave = () => this.point(null);
    this.svg.onfocus = () => this.legend.setAttribute("aria-live", "polite");
    this.svg.onblur = () => {
      this.legend.removeAttribute("aria-live");
      this.point(null);
    };
    this.svg.onkeydown = (event) => {
      const end = (this.given?.x.length ?? 0) - 1;
      const now = this.at ?? end;
      const next = {
        ArrowLeft: now - 1,
        ArrowRight: now + 1,
        PageUp: now - 10,
        PageDown: now + 10,
        Home: 0,
        End: end,
        Escape: null,
      }[event.key];
      if (next === undefined || end < 0) return;
      event.preventDefault();
      this.point(next === null ? null : Math.max(0, Math.min(end, next)));
    };
  }

  point(place) {
    this.at = place;
    this.read();
  }

  read() {
    const { x, series } = this.given ?? { x: [], series: [] };
    if (!x.length || !this.cursor) return;
    const place = this.at === null ? x.length - 1 : Math.min(this.at, x.length - 1);
    const marks = [];
    if (this.at !== null) {
      const at = this.across(x[place]);
      marks.push(svg("line", { x1: at, x2: at, y1: TOP, y2: this.height - BOTTOM }));
      if (!this.stack) {
        series.forEach((one) => {
          if (Number.isFinite(one.y[place]))
            marks.push(svg("circle", { class: `line ${one.shade}`, cx: at, cy: this.to(one.y[place]), r: 3 }));
        });
      }
    }
    this.cursor.replaceChildren(...marks);
    const first = series.filter((one) => one.strong);
    const items = [...first, ...series.filter((one) => !one.strong)].map((one) =>
      el("li", {}, this.swatch(one), el("span", { text: one.name }), el("b", { text: this.format(one.y[place]) })),
    );
    this.legend.replaceChildren(el("li", { class: "where", text: this.place(x[place]) }), ...items);
  }

  swatch(one) {
    const inside = this.stack
      ? svg("rect", { class: `area ${one.shade}`, width: 14, height: 10, rx: 2 })
      : svg("line", {
          class: `line ${one.shade} ${one.strong ? "strong" : ""}`,
          x1: 0,
          x2: 18,
          y1: 5,
          y2: 5,
          "stroke-dasharray": one.dash,
        });
    return svg("svg", { class: "swatch", width: this.stack ? 14 : 18, height: 10, "aria-hidden": "true" }, inside);
  }

  tabulate() {
    if (!this.more.open || !this.given) return;
    const { x, series } = this.given;
    const step = Math.max(1, Math.ceil(x.length / TABLE_ROWS));
    const places = x
      .map((_, i) => i)
      .filter((i) => (x.length - 1 - i) % step === 0)
      .reverse();
    this.head.replaceChildren(
      ...[this.given.time ? "time" : "row", ...series.map((one) => one.name)].map((name) => el("th", { scope: "col", text: name })),
    );
    this.body.replaceChildren(
      ...places.map((i) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", text: this.given.time ? when(x[i]) : count(x[i]) }),
          ...series.map((one) => el("td", { text: this.format(one.y[i]) })),
        ),
      ),
    );
  }
}

const nearest = (places, wanted) =>
  places.reduce((best, place, i) => (Math.abs(place - wanted) < Math.abs(places[best] - wanted) ? i : best), 0);

function stacked(series) {
  let below = null;
  return series.map(({ y }) => {
    below = y.map((value, i) => (below ? below[i] : 0) + (Number.isFinite(value) ? Math.max(value, 0) : 0));
    return below;
  });
}

// A small line without axes, for a tile.
export function spark(host, values) {
  const found = values.filter((value) => Number.isFinite(value));
  if (found.length < 2) return host.replaceChildren();
  const high = Math.max(...found) || 1;
  const at = (value, i) => `${((i / (found.length - 1)) * 100).toFixed(2)} ${(27 - (value / high) * 24).toFixed(2)}`;
  const line = `M${found.map(at).join("L")}`;
  return host.replaceChildren(
    svg(
      "svg",
      { viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("path", { class: "under", d: `${line}L100 28L0 28Z` }),
      svg("path", { class: "over", d: line }),
    ),
  );
}

// How often answers of a probability are right, against the probability: on the diagonal where it is honest.
export function reliability(host, bins) {
  const size = 240;
  const to = (value) => 38 + value * (size - 56);
  const up = (value) => size - 2 - to(value);
  const most = Math.max(...bins.map(([answers]) => answers), 1);
  const label = bins.map(
    ([answers, said, right]) => `said ${Math.round(100 * said)}%: right ${Math.round(100 * right)}% of ${answers}`,
  );
  host.replaceChildren(
    svg(
      "svg",
      {
        class: "reliability",
        viewBox: `0 0 ${size} ${size}`,
        role: "img",
        "aria-label": `Calibration. ${label.join("; ")}.`,
      },
      ...[0, 0.5, 1].flatMap((value) => [
        svg("line", { class: "rule", x1: to(0), x2: to(1), y1: up(value), y2: up(value) }),
        svg("text", { class: "tick", x: 32, y: up(value) + 3, "text-anchor": "end", text: `${100 * value}%` }),
        svg("text", { class: "tick", x: to(value), y: size - 22, "text-anchor": "middle", text: `${100 * value}%` }),
      ]),
      svg("line", { class: "reference", x1: to(0), x2: to(1), y1: up(0), y2: up(1) }),
      ...bins.map(([answers, said, right], i) =>
        svg(
          "circle",
          { class: "dot", cx: to(said), cy: up(right), r: 3 + 7 * Math.sqrt(answers / most) },
          svg("title", { text: label[i] }),
        ),
      ),
    ),
  );
}
