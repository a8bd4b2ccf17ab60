// Shows what /models and /models/NAME say, as text. The token stays in this tab.
"use strict";
const view = document.body.dataset.model;
const out = document.getElementById("out");
const form = document.getElementById("login");

async function show() {
  const token = sessionStorage.getItem("token");
  const headers = token ? { Authorization: "Bearer " + token } : {};
  const answer = await fetch(view ? "/models/" + encodeURIComponent(view) : "/models", { headers });
  form.hidden = answer.status !== 401 && answer.status !== 403;
  const found = await answer.json();
  out.textContent = found.error || JSON.stringify(view ? found : found.models, null, 2);
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", document.getElementById("token").value);
  show();
});
show();
setInterval(show, 2000);
