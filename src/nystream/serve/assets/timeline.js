// From the history that the server keeps to lines and marks over one axis: the rows that came, which go on after a
// model went back. Challengers, alarms and the rest are put there by the time that they happened.
const CHALLENGERS = ["s1", "s3", "s4", "s5", "s6", "s7", "s0", "s2"];
const MARKED = { alarm: "alarm", rollback: "rollback", promoted: "promoted" };

export function describeNote(note) {
  if (note.kind === "alarm") return note.message;
  if (note.kind === "rollback") return `went back from row ${note.from_row} to row ${note.row}`;
  if (note.kind === "promoted") return `${note.name} was promoted; ${note.former} became a challenger`;
  if (note.kind === "challenger") return `challenger ${note.name} joined`;
  if (note.kind === "withdrawn") return `challenger ${note.name} was removed`;
  if (note.kind === "created") return note.from ? `created as a copy of ${note.from}` : "created";
  return note.kind;
}

// Rows that came: where a model went back, the count goes on.
export function unrolled(rows) {
  let more = 0;
  return rows.map((row, i) => {
    if (i && row < rows[i - 1]) more += rows[i - 1] - row;
    return row + more;
  });
}

// The place on the axis at a time, between the readings of a line.
function placing(times, places) {
  return (time) => {
    let low = 0;
    let high = times.length - 1;
    if (high < 0) return 0;
    if (time <= times[0]) return places[0];
    if (time >= times[high]) return places[high];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle;
    }
    const part = (time - times[low]) / (times[high] - times[low] || 1);
    return places[low] + part * (places[high] - places[low]);
  };
}

// The history with the champion as it is now for last reading, so that the picture moves with every tick.
function withNow(line, now) {
  if (!now || now.row < line.row[line.row.length - 1]) return line;
  const end = line.row[line.row.length - 1] === now.row ? -1 : undefined;
  const ended = {};
  for (const name of ["row", "at", "error", "window", "window_mean", "window_last"]) {
    ended[name] = [...line[name].slice(0, end), now[name]];
  }
  return { ...line, ...ended };
}

// What the chart of errors shows: {x, series, marks}; null where nothing has been learnt with labels.
export function errorLines(history, notes, now, time = false) {
  const champion = history.parts[history.champion];
  if (!champion || !champion.row.length) return null;
  const parts = { ...history.parts, [history.champion]: withNow(champion, now) };
  const names = Object.keys(parts).filter((name) => parts[name].row.length);
  const eldest = names.reduce((a, b) => (parts[b].at[0] < parts[a].at[0] ? b : a), history.champion);
  const axis = parts[eldest];
  const x = time ? axis.at : unrolled(axis.row);
  const place = time ? (at) => at : placing(axis.at, x);
  const own = parts[history.champion];
  const others = names.filter((name) => name !== history.champion);
  const along = (name, values) => onto(x, parts[name].at.map(place), values);
  const mine = (values) => (eldest === history.champion ? values : along(history.champion, values));
  const series = [
    { name: "no change", shade: "last", dash: "7 4", y: mine(own.window_last) },
    { name: history.measure === "share wrong" ? "majority class" : "mean so far", shade: "mean", dash: "2 3", y: mine(own.window_mean) },
    ...others.map((name, k) => ({
      name,
      shade: CHALLENGERS[k % CHALLENGERS.length],
      y: name === eldest ? parts[name].window : along(name, parts[name].window),
    })),
    { name: `${history.champion}, so far`, shade: "model", dash: "1 3", y: mine(own.error) },
    { name: history.champion, shade: "model", strong: true, y: mine(own.window) },
  ];
  const marks = notes
    .filter((note) => MARKED[note.kind] && !note.over && note.at >= axis.at[0])
    .map((note) => ({ x: place(note.at), kind: MARKED[note.kind], text: describeNote(note) }));
  return { x, series, marks, time };
}

// Values at their own places, read at the places of the axis; nothing before the first.
function onto(x, places, values) {
  let k = 0;
  return x.map((at) => {
    while (k + 1 < places.length && places[k + 1] <= at) k += 1;
    return places.length && places[0] <= at + 1e-9 ? values[k] : null;
  });
}

// Names with their shades, which they keep as long as the page is open, in the order of the shades.
const shades = {};
function shaded(kind, names) {
  const before = shades[kind] ?? new Map();
  const kept = new Map(names.filter((name) => before.has(name)).map((name) => [name, before.get(name)]));
  const free = names.map((_, k) => k).filter((k) => ![...kept.values()].includes(k));
  for (const name of names) if (!kept.has(name)) kept.set(name, free.shift());
  shades[kind] = kept;
  return [...kept].sort((a, b) => a[1] - b[1]);
}

// Shares over time, the largest `most` of them by name, and the rest together.
export function shareLines(line, kind, time = false, most = 8) {
  const shares = line.relied_on[kind];
  if (!shares || !line.row.length) return null;
  const mean = (values) => values.reduce((sum, value) => sum + Math.abs(value ?? 0), 0);
  const latest = (values) => values[values.length - 1] ?? 0;
  const weight = (name) => mean(shares[name]) + latest(shares[name]);
  const ranked = Object.keys(shares).sort((a, b) => weight(b) - weight(a));
  const shown = shaded(kind, ranked.slice(0, most));
  const positive = (name, i) => Math.max(shares[name][i] ?? 0, 0);
  const totals = line.row.map((_, i) =>
    Math.max(
      ranked.reduce((sum, name) => sum + positive(name, i), 0),
      1,
    ),
  );
  const series = shown.map(([name, k]) => ({
    name,
    shade: `s${k}`,
    y: totals.map((total, i) => positive(name, i) / total),
  }));
  const rest = totals.map((_, i) => {
    const sum = series.reduce((part, one) => part + one.y[i], 0);
    return sum > 0 ? Math.max(1 - sum, 0) : 0;
  });
  if (Math.max(...rest) > 0.005) series.push({ name: "others", shade: "s8", y: rest });
  return { x: time ? line.at : unrolled(line.row), series, top: 1, time };
}
