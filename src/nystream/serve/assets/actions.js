// What a person changes on the page of a model: going back, challengers, snapshots. Each action tells how it went.
import { ask, modelPath } from "./api.js";
import { attempt, by, confirmed, count, when } from "./shown.js";

export class Actions {
  // refresh: asks the server for everything again; state: gives {champion, snapshots, error} as they are now.
  constructor(name, refresh, state) {
    this.name = name;
    this.refresh = refresh;
    this.state = state;
  }

  listen() {
    by("save").onclick = () => attempt(() => this.save());
    for (const [form, action] of [
      ["challenge", () => this.challenge()],
      ["back", () => this.goBackTo()],
    ]) {
      by(form).onsubmit = (event) => {
        event.preventDefault();
        attempt(action);
      };
    }
  }

  async goBack(snapshot) {
    const error = this.state().error(snapshot.error);
    const then = `row ${count(snapshot.rows)} (${when(snapshot.at)}, error ${error})`;
    const text = `The model becomes what it was at ${then}. What it is now is kept as a snapshot: this can be taken back.`;
    if (!(await confirmed("Go back?", text, "Go back"))) return "";
    const path = modelPath(this.name, "rollback");
    const found = await ask(path, { method: "POST", body: { snapshot: snapshot.id } });
    await this.refresh();
    return `The model is at row ${count(found.row)} again.`;
  }

  // Goes back to the last snapshot at or before a row.
  goBackTo() {
    const row = Number(by("back-row").value);
    const before = this.state().snapshots.filter((one) => one.rows <= row);
    if (!before.length) throw new Error(`no snapshot was taken at or before row ${count(row)}`);
    return this.goBack(before.reduce((best, one) => (one.rows >= best.rows ? one : best)));
  }

  async challenge() {
    const body = {};
    const learner = by("challenge-learner").value.trim();
    const settings = by("challenge-settings").value.trim();
    if (by("challenge-copy").checked) body.copy = true;
    if (learner) body.learner = learner;
    if (settings) {
      try {
        body.settings = JSON.parse(settings);
      } catch {
        throw new Error('settings are JSON, as in {"lam": 0.1}');
      }
    }
    const called = by("challenge-name").value.trim();
    await ask(modelPath(this.name, "challengers", called), { method: "PUT", body });
    by("challenge").reset();
    await this.refresh();
    return `${called} learns from the next row on.`;
  }

  async promote(part) {
    const text = `${part.name} will answer from now on, and ${this.state().champion} will learn on as a challenger.`;
    if (!(await confirmed(`Promote ${part.name}?`, text, "Promote"))) return "";
    await ask(modelPath(this.name, "challengers", part.name, "promote"), { method: "POST", body: {} });
    await this.refresh();
    return `${part.name} is the champion.`;
  }

  async withdraw(part) {
    const text = `${part.name} and all it learnt will be deleted. ${this.state().champion} is not touched.`;
    if (!(await confirmed(`Remove ${part.name}?`, text, "Remove"))) return "";
    await ask(modelPath(this.name, "challengers", part.name), { method: "DELETE" });
    await this.refresh();
    return `${part.name} is removed.`;
  }

  async save() {
    const { snapshot } = await ask(modelPath(this.name, "snapshots"), { method: "POST", body: {} });
    await this.refresh();
    return snapshot ? `Taken at row ${count(snapshot.rows)}.` : "";
  }
}
