// Elements, numbers and tables. Whatever comes from outside becomes text and nothing else.
const SVG = "http://www.w3.org/2000/svg";
const NONE = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const few = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const two = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const round = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

const is = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value) {
  if (!is(value)) return value === null || value === undefined ? NONE : String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(2) : few.format(value);
}
export const count = (value) => (is(value) ? whole.format(value) : NONE);
export const share = (value, axis = false) => (is(value) ? (axis ? round : percent).format(value) : NONE);
export const rate = (value) => (is(value) ? (value >= 10 ? whole : two).format(value) : NONE);
export const measured = (value, measure) => (measure === "share wrong" ? share(value) : number(value));

export function bytes(value) {
  if (!is(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  const place = Math.min(value > 0 ? Math.floor(Math.log10(value) / 3) : 0, units.length - 1);
  const scaled = value / 1000 ** place;
  return `${scaled >= 100 || place === 0 ? whole.format(scaled) : scaled.toFixed(1)} ${units[place]}`;
}

export function when(seconds) {
  const date = new Date(seconds * 1000);
  const pad = (value) => String(value).padStart(2, "0");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(":");
  const today = date.toDateString() === new Date().toDateString();
  return today ? clock : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock}`;
}

// A value of a row or a label, as its column's kind is read.
export function value(found, kind) {
  if (found === null || found === undefined) return NONE;
  if (Array.isArray(found)) return found.map((one) => value(one, kind)).join(", ");
  if (kind === "boolean")
    return found === true || found === 1 ? "yes" : found === false || found === 0 ? "no" : number(found);
  if (kind === "time")
    return String(found) === "NaT"
      ? NONE
      : String(found)
          .replace("T", " ")
          .replace(/(:\d\d)?\.0+$/, "$1")
          .replace(/:00$/, "");
  return typeof found === "number" ? number(found) : String(found);
}

// -- elements ------------------------------------------------------------------------------------------
function made(node, attributes, children) {
  for (const [name, given] of Object.entries(attributes)) {
    if (given === false || given === null || given === undefined) continue;
    if (name === "text") node.textContent = given;
    else if (name.startsWith("on")) node[name] = given;
    else node.setAttribute(name, given === true ? "" : given);
  }
  node.append(...children);
  return node;
}
export const el = (tag, attributes = {}, ...children) => made(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  made(document.createElementNS(SVG, tag), attributes, children);
export const by = (id) => document.getElementById(id);

export function put(id, text) {
  const node = by(id);
  if (node.textContent !== text) node.textContent = text;
}

// The rows of a table's body, kept where their keys stay, so that the focus stays too. A cell is a text, or {text,
// class, href, title, press, more}: with `press` a button; `more` is told to a pointer that rests.
export function fill(body, items, keyOf, cellsOf) {
  const before = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const labels = [...body.parentElement.querySelectorAll("thead th")].map((cell) =>
    cell.querySelector(".unseen") ? "" : cell.textContent,
  );
  const rows = items.map((item) => {
    const key = String(keyOf(item));
    const row = before.get(key) || el("tr", { "data-key": key });
    cellsOf(item).forEach((given, place) => {
      const cell = typeof given === "object" && given !== null ? given : { text: given };
      let node = row.children[place];
      if (!node) {
        node = place === 0 ? el("th", { scope: "row" }) : el("td");
        node.dataset.label = labels[place] || "";
        row.append(node);
      }
      shownIn(node, cell);
    });
    return row;
  });
  if (rows.length !== body.children.length || rows.some((row, place) => row !== body.children[place])) {
    body.replaceChildren(...rows);
  }
}

function shownIn(node, cell) {
  const className = cell.class || "";
  if (node.className !== className) node.className = className;
  if (cell.more && node.title !== cell.more) node.title = cell.more;
  if (cell.node) return node.replaceChildren(cell.node);
  const tag = cell.press ? "button" : cell.href ? "a" : null;
  let target = node;
  if (tag) {
    target =
      node.firstElementChild?.localName === tag
        ? node.firstElementChild
        : el(tag, tag === "button" ? { type: "button" } : {});
    if (target.parentNode !== node) node.replaceChildren(target);
    if (cell.press) target.onclick = cell.press;
    if (cell.href && target.getAttribute("href") !== cell.href) target.setAttribute("href", cell.href);
    if (cell.title) target.setAttribute("aria-label", cell.title);
  }
  if (target.textContent !== cell.text) target.textContent = cell.text;
  return target;
}

// A share as a bar with its number.
export function bar(name, part, shade = "", text = share(part)) {
  const line = el("i", { class: `bar ${shade}`, "aria-hidden": "true" });
  line.style.setProperty("--part", String(Math.max(0, Math.min(1, Math.abs(part) || 0))));
  return el("li", {}, el("span", { class: "name", text: name, title: name }), el("b", { text }), line);
}

// -- asking and telling ------------------------------------------------------------------------------------------
export function say(text, trouble = false) {
  const node = by("said");
  node.textContent = text;
  node.dataset.trouble = trouble ? "yes" : "no";
}

// Does something a person asked for, and says how it went: the sentence, or the server's refusal.
export async function attempt(action) {
  try {
    const sentence = await action();
    if (sentence) say(sentence);
  } catch (error) {
    say(`Refused: ${error.message}.`, true);
  }
}

export function confirmed(title, text, verb) {
  const dialog = by("confirm");
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("p").textContent = text;
  dialog.querySelector("button[value=yes]").textContent = verb;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
  });
}
