// The page of one model. Ticks move the numbers every second; what is larger is asked for when it may have changed.
import { admitted, ask, follow, modelPath, pause } from "./api.js";
import { Chart, reliability, spark } from "./chart.js";
import {
  attempt,
  by,
  bytes,
  count,
  el,
  fill,
  measured,
  number,
  put,
  rate,
  say,
  share,
  when,
} from "./shown.js";
import { showColumns } from "./columns.js";
import { Actions } from "./actions.js";
import { showForecast } from "./forecast.js";
import { lastRows } from "./last.js";
import { describeNote, errorLines, shareLines } from "./timeline.js";
import { offer } from "./try.js";

const name = document.body.dataset.model;
const SOON = 2000; // milliseconds from one description to the next, while rows come
const LATER = 5000; // the same of snapshots
const SPREAD = 25; // the ratio of errors from which on the axis is logarithmic, unless somebody chose
const NOTES = 40;

let access = { role: "read" };
let described = null; // what the server says of the model
let history = null;
let snapshots = [];
let now = null; // the last tick
let told = null; // the time of the last note that was told
let logarithmic = null; // what somebody chose
let kind = "weights";
let time = false; // whether charts are over time
const charts = {};
const asked = { described: 0, history: 0, snapshots: 0 };
const due = (what, gap) => performance.now() - asked[what] > gap;
const admin = () => access.role === "admin";
const error = (found) => measured(found, described?.champion.errors?.measure);

// -- asking ------------------------------------------------------------------------------------------
async function refresh(...what) {
  for (const one of what) asked[one] = performance.now();
  const path = {
    described: modelPath(name),
    history: modelPath(name, "history"),
    snapshots: modelPath(name, "snapshots"),
  };
  const found = await Promise.all(what.map((one) => ask(path[one])));
  what.forEach((one, k) => {
    if (one === "described") described = found[k];
    else if (one === "history") history = found[k];
    else snapshots = found[k].snapshots;
  });
  show(what);
}

const everything = () => refresh("described", "history", "snapshots");
const actions = new Actions(name, everything, () => ({ champion: described.champion.name, snapshots, error }));

function spacing() {
  const rows = history?.parts[history.champion]?.row ?? [];
  return rows.length > 1 ? Math.abs(rows[rows.length - 1] - rows[rows.length - 2]) : 1;
}

async function hear(happened, body) {
  if (happened !== "tick") {
    if (happened !== "deleted") await everything();
    return;
  }
  const model = body.models.find((one) => one.name === name);
  if (!model) return gone(`There is no model “${name}” any more.`);
  const moved = !now || now.rows !== model.rows || now.bytes !== model.bytes;
  const before = now;
  now = { ...model, at: body.at ?? Date.now() / 1000 };
  showNumbers();
  const what = [];
  if (!described || (moved && due("described", SOON)) || (before && before.alarms !== model.alarms))
    what.push("described");
  if (!history || (moved && due("history", SOON) && enoughRows())) what.push("history");
  if (what.length && due("snapshots", LATER)) what.push("snapshots");
  if (what.length) await refresh(...what);
  else if (moved) showErrors();
}

function enoughRows() {
  const rows = history?.parts[history.champion]?.row ?? [];
  const labelled = described?.champion.errors?.rows ?? 0;
  return labelled >= (rows[rows.length - 1] ?? 0) + spacing() || labelled < (rows[rows.length - 1] ?? 0);
}

function gone(text) {
  by("gone").hidden = false;
  by("gone").replaceChildren(text, " ", el("a", { href: "/", text: "All models" }));
  by("main").hidden = true;
  put("about", "");
  put("connection", "no such model");
  document.title = `no model ${name} - nystream`;
}

// -- showing ------------------------------------------------------------------------------------------
function show(what) {
  by("main").hidden = false;
  by("gone").hidden = true;
  if (what.includes("described")) {
    showAbout();
    showNumbers();
    showNotes();
    showTrust();
    lastRows(described);
    showParts();
    offer(described);
    attempt(() => showForecast(name, described));
  }
  if (what.includes("history")) showHistory();
  if (what.includes("snapshots")) showSnapshots();
  showErrors();
}

function showAbout() {
  const { schema, config, champion } = described;
  const task = schema ? schema.task : config.task || "task not known yet";
  const target = schema?.target ? ` of ${[].concat(schema.target).join(", ")}` : "";
  put("about", `${task}${target} · ${short(champion)}`);
  by("about").title = champion.learner ?? "";
  const raised = champion.alarms ?? [];
  document.title = `${raised.length ? `(${raised.length}) ` : ""}${name} - nystream`;
  by("alarms").replaceChildren(
    ...raised.map((alarm) => el("li", {}, el("b", { text: alarm.cause }), ` ${alarm.message}`)),
  );
}

function than(own, last, mean) {
  if (![own, last, mean].every((found) => typeof found === "number")) return "";
  return `no change ${error(last)} · ${naive()} ${error(mean)}`;
}

const naive = () => (described?.champion.errors?.measure === "share wrong" ? "majority class" : "mean");

function showNumbers() {
  const errors = described?.champion.errors ?? {};
  const model = now ?? {
    rows: described.champion.rows,
    rows_per_second: described.champion.rows_per_second,
    bytes: described.champion.bytes,
    ...errors,
  };
  put("window-rows", count(errors.window_rows ?? 1000));
  put("window", error(model.window));
  put("window-than", than(model.window, model.window_last, model.window_mean));
  by("window").dataset.good =
    model.window === null ? "" : model.window <= Math.min(model.window_last, model.window_mean) ? "yes" : "no";
  put("error", error(model.error));
  put("error-than", than(model.error, model.error_last, model.error_mean));
  put("rows", count(model.rows));
  const more = [];
  if (described?.open_labels) more.push(`${count(described.open_labels)} wait for a label`);
  if (described?.keys) more.push(`${count(described.keys)} keys`);
  if (described?.counts.predicted) more.push(`${count(described.counts.predicted)} predicted`);
  put("rows-more", more.join(" · "));
  put("rate", rate(model.rows_per_second));
  put("memory", bytes(model.bytes));
}

function showErrors() {
  if (!history) return;
  const model = now && history.champion === described?.champion.name ? now : null;
  const errors = described?.champion.errors;
  const row = model && errors ? errors.rows + Math.max(0, model.rows - described.champion.rows) : 0;
  const given = errorLines(history, described?.notes ?? history.notes, model && errors ? { ...model, row } : null, time);
  by("errors-none").hidden = Boolean(given);
  by("errors").hidden = by("errors-key").hidden = !given;
  if (!given) return;
  const measure = history.measure === "share wrong" ? "Share of wrong answers" : "Mean squared error";
  put("errors-title", `${measure} in the last ${count(errors?.window_rows ?? 1000)} rows`);
  charts.errors ??= new Chart(by("errors"), "Error in the window, over the rows", {
    height: 300,
    format: (found, axis) => (axis ? tick(found) : error(found)),
  });
  const values = given.series.flatMap((one) => one.y.slice(Math.floor(one.y.length / 20))).filter((found) => found > 0);
  const wide = history.measure !== "share wrong" && Math.max(...values) > SPREAD * Math.min(...values);
  by("log").checked = logarithmic ?? wide;
  charts.errors.update({ ...given, log: by("log").checked });
}

const tick = (found) => (history.measure === "share wrong" ? share(found, true) : number(found));

function showHistory() {
  const line = history.parts[history.champion];
  if (!line) return;
  spark(by("rate-spark"), line.rows_per_second);
  spark(by("memory-spark"), line.bytes);
  const given = shareLines(line, kind === "weights" ? "weights" : "columns", time);
  by("relied-kind").hidden = !described?.champion.abilities.includes("importance");
  by("relied-none").hidden = kind !== "weights" || Boolean(given);
  by("relied").hidden = !given;
  by("columns").hidden = kind === "weights";
  if (given) {
    charts.relied ??= new Chart(by("relied"), "What the prediction relies on, over the rows", {
      height: 240,
      stack: true,
      format: share,
    });
    charts.relied.update(given);
  }
  showTrust();
}

function showTrust() {
  const errors = described?.champion.errors;
  if (!errors) return;
  const covered = errors.coverage !== null && !errors.calibration.length;
  put("trust-title", covered ? "Interval coverage" : "Calibration");
  if (errors.calibration.length) {
    const answers = errors.calibration.reduce((sum, [many]) => sum + many, 0);
    put(
      "trust-text",
      `How often answers are right, by how probable they were said to be, in ${count(answers)} rows that were looked ` +
        "at. On the line: honest.",
    );
    reliability(by("trust"), errors.calibration);
    return;
  }
  if (!covered) {
    put("trust-text", "No intervals or probabilities of this learner have been looked at.");
    by("trust").replaceChildren();
    delete charts.coverage;
    return;
  }
  put(
    "trust-text",
    `${share(errors.coverage)} of ${count(errors.coverage_rows)} labels that were looked at lay inside their ` +
      `${share(errors.coverage_asked, true)} interval.`,
  );
  const line = history?.parts[history.champion];
  if (!line?.coverage.some((found) => found !== null)) return;
  charts.coverage ??= new Chart(by("trust"), "Interval coverage so far, over the rows", { height: 200, format: share });
  const places = time ? line.at : line.row;
  const shown = line.coverage.map((found, i) => [found, places[i]]).filter(([found]) => found !== null);
  const floor = Math.max(0, Math.floor(Math.min(0.8, ...shown.map(([found]) => found)) * 10) / 10 - 0.1);
  charts.coverage.update({
    x: shown.map(([, row]) => row),
    series: [{ name: "inside", shade: "model", strong: true, y: shown.map(([found]) => found) }],
    top: 1,
    floor,
    reference: errors.coverage_asked,
    time,
  });
}

function showNotes() {
  const notes = described.notes.slice(-NOTES).reverse();
  const items = notes.map((note) => {
    const [title, text] = [note.cause ?? note.kind, describeNote(note)];
    const begins = text.toLowerCase().startsWith(title.toLowerCase()); // "drift" before "Drift alarm at row 3"
    return el(
      "li",
      { class: note.over ? "over" : note.kind, "data-cause": note.cause },
      el("time", { text: when(note.at) }),
      el("span", {}, begins ? "" : el("b", { text: title }), ` ${text}`),
    );
  });
  by("notes").replaceChildren(...(items.length ? items : [el("li", { text: "Nothing yet." })]));
  const latest = notes[0]?.at ?? 0;
  const fresh = notes.filter((note) => told !== null && note.at > told && note.kind === "alarm");
  if (fresh.length) put("news", `Alarm: ${fresh.map((note) => note.message).join("; ")}`);
  told = latest;
}

// The name of a learner as somebody chose it, where somebody did; "main" is what a model begins with.
function short(part) {
  const chosen = part.config.learner ?? (part.name === "main" ? described.config.learner : null);
  if (chosen) return chosen;
  return !part.learner || /^(Encoded\()?Auto\(/.test(part.learner) ? "automatic" : part.learner.slice(0, 60);
}

function showParts() {
  const parts = [described.champion, ...described.challengers];
  fill(
    by("parts").tBodies[0],
    parts,
    (part) => part.name,
    (part) => [
      part.name + (part === described.champion ? " (champion)" : part.broken ? " (stopped)" : ""),
      { text: short(part), more: part.learner, class: "words" },
      { text: count(part.rows), class: "n" },
      { text: error(part.errors?.window), class: "n strong" },
      { text: error(part.errors?.error), class: "n" },
      { text: bytes(part.bytes), class: "n" },
      admin() && part !== described.champion && !part.broken
        ? { text: "Promote", title: `Promote ${part.name}`, press: () => attempt(() => actions.promote(part)) }
        : part.broken
          ? { text: part.broken, class: "words" }
          : "",
      admin() && part !== described.champion
        ? { text: "Remove", title: `Remove ${part.name}`, press: () => attempt(() => actions.withdraw(part)) }
        : "",
    ],
  );
  by("challenge").hidden = !admin() || !described.champion.rows;
  put(
    "parts-hint",
    described.challengers.length && !admin()
      ? `Promoting needs the role admin; this token has the role ${access.role}.`
      : "Challengers learn the same rows and answer nobody, until one is promoted.",
  );
}

function showSnapshots() {
  const found = [...snapshots].reverse();
  by("snapshots-none").hidden = found.length > 0;
  by("snapshots").hidden = !found.length;
  by("save").hidden = !admin() || !described?.champion.rows;
  by("back").hidden = !admin() || found.length < 2;
  fill(
    by("snapshots").tBodies[0],
    found,
    (one) => one.id,
    (one) => [
      when(one.at),
      { text: count(one.rows), class: "n" },
      { text: error(one.error), class: "n" },
      { text: bytes(one.bytes), class: "n" },
      admin()
        ? {
            text: "Go back",
            title: `Go back to row ${count(one.rows)}, ${when(one.at)}`,
            press: () => attempt(() => actions.goBack(one)),
          }
        : "",
    ],
  );
  put(
    "snapshots-hint",
    admin() || !found.length ? "" : `Going back needs the role admin; this token has the role ${access.role}.`,
  );
}

async function begin() {
  by("main").hidden = true;
  access = await admitted();
  actions.listen();
  for (const button of by("axis").children) {
    button.onclick = () => {
      time = button.dataset.axis === "time";
      for (const other of by("axis").children) other.setAttribute("aria-pressed", String(other === button));
      showErrors();
      showHistory();
    };
  }
  by("log").onchange = () => {
    logarithmic = by("log").checked;
    showErrors();
  };
  for (const button of by("relied-kind").children) {
    button.onclick = () => {
      kind = button.dataset.kind;
      for (const other of by("relied-kind").children) other.setAttribute("aria-pressed", String(other === button));
      if (kind === "importance") attempt(() => showColumns(name));
      showHistory();
    };
  }
  for (;;) {
    try {
      await everything();
      break;
    } catch (trouble) {
      if (trouble.status === 404) gone(`There is no model “${name}”.`);
      else say(trouble.message, true);
      await pause(SOON);
    }
  }
  await follow(name, async (happened, body) => {
    try {
      await hear(happened, body);
    } catch (trouble) {
      if (trouble.status === 404) gone(`There is no model “${name}”.`);
      else if (trouble.status === undefined) throw trouble;
    }
  });
}

begin();
