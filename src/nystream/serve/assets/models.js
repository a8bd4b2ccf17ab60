// The page of all models: a table that moves with every tick, and a form for a new one.
import { admitted, ask, follow, modelPath } from "./api.js";
import { attempt, bytes, by, count, el, fill, measured, put, rate } from "./shown.js";

const FINDABLE = 4; // models from which on there is something to search and to sort
const SORTS = {
  created: ["in the order of creation", (model) => model.created ?? 0],
  name: ["by name", null],
  rows: ["most rows first", (model) => -model.rows],
  rate: ["most rows a second first", (model) => -(model.rows_per_second ?? 0)],
  part: ["worst against the better first", (model) => -(partOf(model)?.part ?? -1)],
  alarms: ["most alarms first", (model) => -model.alarms],
  bytes: ["most memory first", (model) => -(model.bytes ?? 0)],
};
let models = [];
let sort = "created";

// The error as a multiple of that of the better naive forecast; null where there is none.
function partOf(model) {
  const best = Math.min(...[model.window_last, model.window_mean].filter((value) => value !== null));
  return model.window === null || !Number.isFinite(best) || best <= 0 ? null : { best, part: model.window / best };
}

function against(model) {
  const found = partOf(model);
  if (!found) return { text: "–", class: "skill" };
  const { best, part } = found;
  const mean = model.measure === "share wrong" ? "the majority class" : "the mean";
  const name = best === model.window_last ? "no change" : mean;
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
  const words = (model) => `${model.name} ${model.task ?? ""} ${model.learner}`.toLowerCase();
  const shown = sorted(models.filter((model) => words(model).includes(wanted)));
  by("none").hidden = models.length > 0;
  by("models").hidden = !shown.length;
  by("nothing").hidden = !models.length || shown.length > 0;
  by("finding").hidden = models.length < FINDABLE;
  fill(by("models").tBodies[0], shown, (model) => model.name, cells);
  const busy = models.reduce((sum, model) => sum + (model.rows_per_second || 0), 0);
  const raised = models.reduce((sum, model) => sum + model.alarms, 0);
  const alarms = raised ? `${raised} ${raised === 1 ? "alarm" : "alarms"}` : "no alarms";
  put("summary", `${models.length} ${models.length === 1 ? "model" : "models"} · ${rate(busy)} rows/s · ${alarms}`);
}

function sorted(found) {
  const value = SORTS[sort][1];
  const names = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });
  return [...found].sort(value ? (a, b) => value(a) - value(b) || names(a, b) : names);
}

const time = (seconds) =>
  seconds === null || seconds === undefined ? "–" : seconds < 1 ? `${rate(seconds * 1000)}\u00a0ms` : `${rate(seconds)}\u00a0s`;

// What the server says of itself: what waits, how long things take, the disk, the memory.
function showHealth(health) {
  by("health").hidden = !health;
  if (!health) return;
  const facts = [
    ["Rows waiting to be learnt", health.queue ? `${count(health.queue_rows)} (requests: ${count(health.queue)})` : "none", health.queue > 1000],
    ["Learning request", `${time(health.learn_median)}, 99% within ${time(health.learn_p99)}`],
    ["Sync of the disk", `${time(health.commit_median)}, 99% within ${time(health.commit_p99)}`],
    ["Free on the disk", bytes(health.disk_free), health.disk_free < 1e9],
    ["Log and snapshots", `${bytes(health.log_bytes)} and ${bytes(health.snapshot_bytes)}`],
    ["Memory", bytes(health.process_bytes)],
  ];
  for (const [name, lag] of Object.entries(health.copies ?? {})) {
    const text = lag.error ? `${time(lag.lag_seconds)} behind: ${lag.error}` : `${time(lag.lag_seconds)} behind`;
    facts.push([name === "replica" ? "Copied from the primary" : "Archive", text, Boolean(lag.error)]);
  }
  if (health.workers) {
    const down = health.workers_down.length;
    facts.push(["Workers", down ? `${down} of ${health.workers} are being started again` : `${health.workers}`, down > 0]);
  }
  if (health.quarantined.length) facts.push(["Quarantined models", health.quarantined.join(", "), true]);
  by("health-list").replaceChildren(
    ...facts.map(([name, text, isBad]) =>
      el("div", {}, el("dt", { text: name }), el("dd", { text, class: isBad ? "alarm" : "" })),
    ),
  );
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
  by("sort").replaceChildren(...Object.entries(SORTS).map(([key, [text]]) => el("option", { value: key, text })));
  by("sort").onchange = () => {
    sort = by("sort").value;
    show();
  };
  await follow(null, (kind, body) => {
    if (kind !== "tick") return;
    models = body.models;
    if (body.health) showHealth(body.health);
    show();
  });
}

begin();
