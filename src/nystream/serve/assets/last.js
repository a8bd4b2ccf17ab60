// The last rows of a model, each with what was predicted before its label was read.
import { by, el, fill, value, when } from "./shown.js";

const COLUMNS = 12; // that are shown

export function lastRows(described) {
  const rows = [...described.last_rows].reverse();
  const table = by("last");
  by("last-none").hidden = rows.length > 0;
  table.hidden = !rows.length;
  if (!rows.length) return;
  const kinds = described.schema.columns;
  const columns = Object.keys(rows[0].row).slice(0, COLUMNS);
  const left = Object.values(kinds).filter((one) => one !== "ignored").length - columns.length;
  const heads = ["Time", "Predicted", "Label", ...columns, ...(left ? [`and ${left} more`] : [])];
  const head = table.tHead.rows[0];
  if (head.cells.length !== heads.length || heads.some((text, k) => head.cells[k].textContent !== text)) {
    const plain = (text) => text === "Time" || kinds[text] === "text";
    head.replaceChildren(...heads.map((text) => el("th", { scope: "col", text, class: plain(text) ? "" : "n" })));
    table.tBodies[0].replaceChildren();
  }
  const regression = described.schema.task === "regression";
  let place = 0;
  fill(
    table.tBodies[0],
    rows,
    () => place++,
    ({ at, row, prediction, label }) => [
      when(at),
      { text: value(prediction), class: "n strong" },
      { text: value(label), class: regression || label === null ? "n" : label === prediction ? "n right" : "n wrong" },
      ...columns.map((column) => ({
        text: value(row[column], kinds[column]),
        class: kinds[column] === "text" ? "words" : "n",
      })),
      ...(left ? [""] : []),
    ],
  );
}
