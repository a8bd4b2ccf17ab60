// A form made from the columns of a model, to try a row by hand.
import { ask, modelPath } from "./api.js";
import { attempt, bar, by, el, share, value } from "./shown.js";

const MOST_FIELDS = 60; // columns from which on a row is written as JSON
const LEVELS = 50;
const CLASSES = 12;

let built = "";
let kinds = {};
let fields = new Map();
const levels = new Map();

function field(name, kind, format) {
  const id = `try-${fields.size}`;
  let input;
  if (kind === "boolean") {
    input = el(
      "select",
      { id },
      ...[
        ["", "missing"],
        ["true", "yes"],
        ["false", "no"],
      ].map(([given, text]) => el("option", { value: given, text })),
    );
  } else if (kind === "text") input = el("textarea", { id, rows: 2 });
  else if (kind === "number") input = el("input", { id, type: "number", step: "any", placeholder: "missing" });
  else if (kind === "time" && !format) input = el("input", { id, type: "datetime-local", step: "1" });
  else if (kind === "time") input = el("input", { id, placeholder: format, autocomplete: "off" });
  else input = el("input", { id, list: `${id}-levels`, placeholder: "missing", autocomplete: "off" });
  fields.set(name, input);
  const parts = [el("label", { for: id, text: name }), input];
  if (kind === "category") parts.push(el("datalist", { id: `${id}-levels` }));
  return el("div", { class: kind === "text" || kind === "time" ? "full" : "" }, ...parts);
}

// Once per schema; afterwards only what categories have been seen changes.
export function offer(described) {
  const { schema, last_rows: rows } = described;
  by("try-none").hidden = Boolean(schema);
  by("try").hidden = !schema;
  if (!schema) return;
  const signature = JSON.stringify([schema.columns, schema.formats]);
  if (signature !== built) {
    built = signature;
    fields = new Map();
    kinds = Object.fromEntries(Object.entries(schema.columns).filter(([, kind]) => kind !== "ignored"));
    const names = Object.keys(kinds);
    if (names.length > MOST_FIELDS) {
      const text = el("textarea", { id: "try-json", rows: 8, spellcheck: "false" });
      by("try-fields").replaceChildren(
        el(
          "div",
          { class: "full" },
          el("label", { for: "try-json", text: `A row as JSON (${names.length} columns)` }),
          text,
        ),
      );
    } else by("try-fields").replaceChildren(...names.map((name) => field(name, kinds[name], schema.formats?.[name])));
    fillIn(rows);
  }
  for (const { row } of rows) learnLevels(row);
  by("try-last").hidden = !rows.length;
  by("try-last").onclick = () => fillIn(rows);
  by("try").onsubmit = (event) => {
    event.preventDefault();
    attempt(() => predict(described));
  };
}

function learnLevels(row) {
  for (const [name, input] of fields) {
    if (kinds[name] !== "category" || typeof row[name] !== "string") continue;
    const known = levels.get(name) || new Set();
    if (known.has(row[name]) || known.size >= LEVELS) continue;
    levels.set(name, known.add(row[name]));
    input.parentElement.querySelector("datalist").append(el("option", { value: row[name] }));
  }
}

function fillIn(rows) {
  const row = rows.length ? rows[rows.length - 1].row : {};
  const text = by("try-json");
  if (text) text.value = JSON.stringify(row, null, 1);
  for (const [name, input] of fields) {
    const found = row[name] ?? "";
    if (kinds[name] === "boolean") input.value = found === "" ? "" : String(Boolean(found));
    else if (kinds[name] === "time" && input.type === "datetime-local") input.value = String(found).slice(0, 19);
    else if (kinds[name] === "time")
      input.value = ""; // written in the column's own way
    else input.value = String(found);
  }
}

function rowGiven() {
  const text = by("try-json");
  if (text) return parsed(text.value);
  const row = Object.create(null); // a column may be called __proto__
  for (const [name, input] of fields) {
    const kind = kinds[name];
    if (input.value === "") row[name] = null;
    else
      row[name] = kind === "number" ? Number(input.value) : kind === "boolean" ? input.value === "true" : input.value;
  }
  return row;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the row is not written as JSON");
  }
}

async function predict({ name, champion, schema }) {
  const can = (ability) => champion.abilities.includes(ability);
  const body = { row: rowGiven() };
  if (can("predict_interval") && schema.task === "regression") body.interval = 0.9;
  if (can("probabilities")) body.probabilities = true;
  if (can("explain_row")) body.explain = true;
  const found = await ask(modelPath(name, "predict"), { method: "POST", body });
  const target = Array.isArray(schema.target) ? schema.target.join(", ") : schema.target || "prediction";
  const parts = [
    el("p", { class: "small", text: target }),
    el("p", { class: "big", text: value(found.predictions[0]) }),
  ];
  if (found.low)
    parts.push(el("p", { class: "small", text: `90% interval: ${value(found.low[0])} to ${value(found.high[0])}` }));
  if (found.probabilities) {
    const order = found.probabilities[0].map((part, k) => [part, String(found.classes[k])]).sort((a, b) => b[0] - a[0]);
    parts.push(
      el(
        "ul",
        { class: "bars" },
        ...order.slice(0, CLASSES).map(([part, label]) => bar(label, part, "s0", share(part))),
      ),
    );
  }
  if (Array.isArray(found.explanation)) {
    const order = Object.entries(found.explanation[0])
      .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]))
      .slice(0, CLASSES);
    const most = Math.max(...order.map(([, part]) => Math.abs(part)), 1e-300);
    parts.push(el("p", { class: "small", text: "What each column contributes:" }));
    parts.push(
      el(
        "ul",
        { class: "bars" },
        ...order.map(([label, part]) => bar(label, part / most, part < 0 ? "last" : "s0", value(part))),
      ),
    );
  }
  parts.push(el("p", { class: "hint", text: `by the model as it was at row ${found.row}; nothing was learnt` }));
  by("try-answer").replaceChildren(...parts);
}
