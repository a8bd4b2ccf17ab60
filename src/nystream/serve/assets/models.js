// The page of all models: a table that moves with every tick, and a form for a new one.
import { admitted, ask, follow, modelPath } from "./api.js";
import { attempt, bytes, by, count, el, fill, measured, put, rate } from "./shown.js";

const FILTERED = 12; // models from which on names can be looked for
let models = [];

function against(model) {
  const best = Math.min(...[model.window_last, model.window_mean].filter((value) => value !== null));
  if (model.window === null || !Number.isFinite(best) || best <= 0) return { text: "–", class: "skill" };
  const part = model.window / best;
  const name = best === model.window_last ? "no change" : "the mean";
  const node = el(
    "span",
    { class: `gauge ${part <= 1 ? "" : "worse"}`, title: `${measured(model.window)} against ${measured(best)}` },
    el("i", { "aria-hidden": "true" }),
    el("span", { text: `${rate(part)} × ${name}` }),
  );
  node.firstChild.style.setProperty("--part", String(Math.min(1, part)));
  return { node, class: "skill" };
}

function cells(model) {
  const error = (value) => ({ text: measured(value, model.measure), class: "n" });
  return [
    { text: model.name, href: `/view/${encodeURIComponent(model.name)}` },
    model.task || "not known yet",
    model.learner + (model.challengers ? `, ${model.challengers} challenging` : ""),
    { text: count(model.rows), class: "n" },
    { text: rate(model.rows_per_second), class: "n" },
    { ...error(model.window), class: "n strong" },
    error(model.window_last),
    error(model.window_mean),
    against(model),
    error(model.error),
    { text: model.alarms ? String(model.alarms) : "none", class: model.alarms ? "n alarm" : "n quiet" },
    { text: bytes(model.bytes), class: "n" },
  ];
}

function show() {
  const wanted = by("filter").value.trim().toLowerCase();
  const shown = models.filter((model) => model.name.toLowerCase().includes(wanted));
  by("none").hidden = models.length > 0;
  by("models").hidden = !models.length;
  by("filter").hidden = models.length < FILTERED;
  fill(by("models").tBodies[0], shown, (model) => model.name, cells);
  const busy = models.reduce((sum, model) => sum + (model.rows_per_second || 0), 0);
  const raised = models.reduce((sum, model) => sum + model.alarms, 0);
  const alarms = raised ? `${raised} ${raised === 1 ? "alarm" : "alarms"}` : "no alarms";
  put("summary", `${models.length} ${models.length === 1 ? "model" : "models"} · ${rate(busy)} rows/s · ${alarms}`);
}

async function create() {
  const config = {};
  for (const name of ["target", "task", "learner"]) {
    const given = by(`create-${name}`).value.trim();
    if (given) config[name] = given;
  }
  const name = by("create-name").value.trim();
  await ask(modelPath(name), { method: "PUT", body: config });
  by("create").reset();
  models = (await ask("/models")).models;
  show();
  return `${name} is there and waits for its first rows.`;
}

async function begin() {
  const access = await admitted();
  put("origin", location.origin);
  put("origin-too", location.origin);
  by("create").hidden = access.role !== "admin";
  by("create").onsubmit = (event) => {
    event.preventDefault();
    attempt(create);
  };
  by("filter").oninput = show;
  await follow(null, (kind, body) => {
    if (kind !== "tick") return;
    models = body.models;
    show();
  });
}

begin();
