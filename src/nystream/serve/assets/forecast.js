// The panel of a series: its last labels, the next ones as forecast, and the interval around them.
import { ask, modelPath } from "./api.js";
import { Chart } from "./chart.js";
import { by, count, number, put, share } from "./shown.js";

const CYCLES = 3; // horizons of history that are shown
const STEP = 2000; // milliseconds between two forecasts, while rows come

let chart = null;
let last = { at: -STEP, row: -1 };

// Inputs of the next rows are not known here: the forecast counts them as missing, and the page says so.
export async function showForecast(name, described) {
  const given = described.config.forecast;
  by("forecast-card").hidden = !given || !described.champion.rows;
  if (by("forecast-card").hidden || last.row === described.champion.rows || performance.now() - last.at < STEP) return;
  last = { at: performance.now(), row: described.champion.rows };
  const horizon = given.horizon;
  const columns = Object.entries(described.schema.columns).filter(([, kind]) => kind !== "time" && kind !== "ignored");
  const body = { history: Math.min(2048, CYCLES * horizon), interval: 0.9 };
  if (columns.length) body.rows = Array.from({ length: horizon }, () => ({}));
  const found = await ask(modelPath(name, "forecast"), { method: "POST", body });
  draw(found, columns);
}

function draw(found, columns) {
  const past = found.history.labels;
  const n = past.length;
  const nothing = (length) => Array.from({ length }, () => null);
  const ahead = (values) => [...nothing(n - 1), past[n - 1], ...values]; // from the last label on
  const x = [...past, ...found.forecast].map((_, i) => found.row - n + i + 1);
  chart ??= new Chart(by("forecast"), "Last labels and forecast, over the rows", { height: 260, format: number });
  const ends = [...found.low, ...found.high, ...found.forecast, ...past].filter((value) => value !== null);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const margin = 0.08 * (most - least || 1);
  chart.update({
    x,
    series: [
      { name: "label", shade: "last", strong: true, y: [...past, ...nothing(found.forecast.length)] },
      { name: "forecast", shade: "model", strong: true, y: ahead(found.forecast) },
      { name: "low", shade: "model", dash: "3 3", y: ahead(found.low) },
      { name: "high", shade: "model", dash: "3 3", y: ahead(found.high) },
    ],
    floor: least - margin,
    top: most + margin,
  });
  const { mae, coverage } = found.score;
  const seasonal = found.score["seasonal naive"];
  const parts = [found.times ? `Next: ${found.times[0].replace("T", " ")} to ${found.times.at(-1).replace("T", " ")}.` : ""];
  if (mae !== null) parts.push(`Mean absolute error of all steps so far: ${number(mae)}`);
  if (mae !== null && seasonal) parts.push(`(${share(mae / seasonal, true)} of that of the seasonal naive forecast).`);
  if (coverage !== null) parts.push(`${share(coverage)} of the labels lay inside their 90% interval.`);
  if (columns.length) parts.push(`${columns.map(([name]) => name).join(", ")}: not known ahead here, counted as missing.`);
  put("forecast-text", parts.join(" "));
  put("forecast-title", `The next ${count(found.forecast.length)} rows`);
}
