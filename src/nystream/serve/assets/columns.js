// Shares of the columns now: worked out when somebody asks, since that takes the server thousands of predictions.
import { ask, modelPath } from "./api.js";
import { bar, by, count, el } from "./shown.js";

const MOST_BARS = 20;

export async function showColumns(name) {
  by("columns").replaceChildren(el("p", { class: "small", text: "Being worked out." }));
  let found;
  try {
    found = await ask(modelPath(name, "importance"));
  } catch (trouble) {
    by("columns").replaceChildren();
    throw trouble;
  }
  const shares = Object.entries(found.importance).sort((a, b) => b[1] - a[1]);
  const items = shares.slice(0, MOST_BARS).map(([column, part]) => bar(column, part));
  const text =
    `Measured by predictions with the values of a column exchanged, by the model as it was at row ${count(found.row)}; ` +
    "press again for now. Over the rows, where the learner knows them: shares in the distances that it has learnt.";
  by("columns").replaceChildren(el("ul", { class: "bars" }, ...items), el("p", { class: "hint", text }));
}
