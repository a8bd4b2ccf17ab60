// Talks to the server: requests with the token of this tab, and the event stream. The stream is read by fetch, since
// EventSource cannot send the token. The token is in sessionStorage alone: it goes when the tab does.
const KEY = "nystream-token";
const PAUSE = 2000;
const POLLS = 5; // times that the page asks by itself before it tries the stream again
const SILENCE = 20_000; // the server says something every 15 s at the least

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function request(path, { method = "GET", body, signal } = {}) {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body === undefined ? undefined : JSON.stringify(body);
  return fetch(path, { method, headers, body: content, signal, cache: "no-store" }).catch((error) => {
    throw signal?.aborted ? error : new Refused(0, "the server cannot be reached");
  });
}

export async function ask(path, options) {
  const answer = await request(path, options);
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, found.error || `the server answered with status ${answer.status}`);
  return found;
}

export const modelPath = (name, ...more) => ["/models", ...[name, ...more].map(encodeURIComponent)].join("/");

// -- the token ------------------------------------------------------------------------------------------
// What this tab may do: {role, tokens}. Asks for a token where one is needed, until there is a good one.
export async function admitted() {
  const form = document.getElementById("login");
  for (;;) {
    try {
      const access = await ask("/access");
      form.hidden = true;
      document.getElementById("main").hidden = false;
      showAccess(access);
      return access;
    } catch (error) {
      if (error.status === 401) await givenToken(form, sessionStorage.getItem(KEY) ? error.message : "");
      else {
        document.getElementById("connection").textContent = error.message;
        await pause(PAUSE);
      }
    }
  }
}

function givenToken(form, complaint) {
  sessionStorage.removeItem(KEY);
  document.getElementById("main").hidden = true;
  form.hidden = false;
  form.querySelector(".complaint").textContent = complaint ? `Refused: ${complaint}.` : "";
  const input = form.querySelector("input");
  input.value = "";
  input.focus();
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      const token = input.value.trim();
      input.value = "";
      if (/^[!-~]+$/.test(token)) {
        sessionStorage.setItem(KEY, token);
        resolve();
      } else form.querySelector(".complaint").textContent = "A token is letters, digits and signs, without spaces.";
    };
  });
}

function showAccess(access) {
  const button = document.getElementById("forget");
  button.hidden = !access.tokens;
  button.textContent = `Leave (${access.role})`;
  button.onclick = leave;
}

function leave() {
  sessionStorage.removeItem(KEY);
  location.reload();
}

// -- the stream ------------------------------------------------------------------------------------------
async function* events(path, stop) {
  let timer = setTimeout(() => stop.abort(), SILENCE);
  try {
    const answer = await request(path, { signal: stop.signal });
    if (!answer.ok) throw new Refused(answer.status, "no stream");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), SILENCE);
      const parts = (text + value).split("\n\n");
      text = parts.pop();
      for (const part of parts) {
        const kind = /^event: (.*)$/m.exec(part);
        const data = /^data: (.*)$/m.exec(part);
        if (kind && data) yield [kind[1], JSON.parse(data[1])];
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

// Calls hear(kind, body) with what happens, of one model or (null) of all, for ever: from the stream, or by asking
// again and again where there is none. A tab that nobody sees listens to nothing. A token that is refused ends it all.
export async function follow(model, hear) {
  const shown = document.getElementById("connection");
  const tell = (state, text) => {
    shown.dataset.state = state;
    if (shown.textContent !== text) shown.textContent = text;
  };
  for (;;) {
    await seen();
    const stop = new AbortController();
    const hidden = () => document.hidden && stop.abort();
    document.addEventListener("visibilitychange", hidden);
    try {
      const path = model === null ? "/events" : `/events?model=${encodeURIComponent(model)}`;
      for await (const [kind, body] of events(path, stop)) {
        tell("live", "live");
        await hear(kind, body);
      }
    } catch (error) {
      if (error.status === 401 || error.status === 403) leave();
    } finally {
      document.removeEventListener("visibilitychange", hidden);
      stop.abort();
    }
    for (let k = 0; k < POLLS && !document.hidden; k++) {
      try {
        await hear("tick", await ask("/models"));
        tell("asking", "asking every 2 s");
      } catch (error) {
        if (error.status === 401) leave();
        tell("away", `${error.message}; trying again`);
      }
      await pause(PAUSE);
    }
  }
}

function seen() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true });
  });
}
