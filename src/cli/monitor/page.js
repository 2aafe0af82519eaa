"use strict";
const $ = (id) => document.getElementById(id);
const token = decodeURIComponent(location.hash.slice(1));
const count = (value) => value == null ? "–" : Math.round(value).toLocaleString("en");
const short = (value, digits = 2) => value == null ? "–" : value.toFixed(digits);
const time = (seconds) => {
  if (seconds == null) return "–";
  const s = Math.round(seconds);
  return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
};
let paused = false, misses = 0;
const ask = (path, method = "GET") => fetch(path, { method, headers: { "X-Warpshard": "1", ...(token && { Authorization: `Bearer ${token}` }) } });
const make = (tag, text) => { const made = document.createElement(tag); made.textContent = text ?? ""; return made; };
const tile = (name, value) => { const made = make("div"); made.append(make("b", value), make("span", name)); return made; };
// Only texts that need attention have the warning colour.
const say = (text, warns = false) => { $("said").textContent = text; $("said").classList.toggle("warns", warns); };
const row = (cells) => { const made = make("tr"); made.append(...cells); return made; };

function show(state) {
  $("title").textContent = state.title;
  document.title = `${state.title} – warpshard`;
  const host = state.host, recent = state.recent || {};
  const load = [tile("simulated for", time(state.seconds)), tile("host load, of cores", `${short(host.load)} of ${host.cores}`),
    tile("memory", host.memory == null ? "–" : `${(host.memory / 2 ** 20).toFixed(0)} MiB`), tile("cores that this run uses", short(recent.cores, 1))];
  if (!state.begun) {
    say("The run is being prepared: the machine is built, and the first instructions of the workload are executed or read. Progress follows here.");
    $("tiles").replaceChildren(...load);
    return;
  }
  paused = state.paused;
  say(paused ? "The run is paused." : "");
  for (const id of ["pause", "list"]) $(id).disabled = false;
  $("pause").textContent = paused ? "Resume" : "Pause";
  const share = state.ctas ? state.ctas_done / state.ctas : 0;
  $("bar").value = share;
  $("tiles").replaceChildren(
    tile("core cycles", count(state.cycles)), tile("finished CTAs", `${count(state.ctas_done)} of ${count(state.ctas)}`), tile("remaining", time(state.left)),
    tile("mean IPC", short(state.ipc, 1)), tile("recent IPC", short(recent.ipc, 1)), tile("core cycles per second", count(recent.cycles_per_second)),
    tile("warp instructions per second", count(state.speed)), ...load);
  const all = state.reasons.reduce((sum, [, cycles]) => sum + cycles, 0) || 1;
  $("reasons").tBodies[0].replaceChildren(...state.reasons.filter(([, cycles]) => cycles).map(([name, cycles]) => {
    const cell = make("td"), fill = make("i");
    cell.className = "bar";
    fill.style.width = `${100 * cycles / all}%`;
    cell.append(fill);
    return row([make("td", name.replace(/^stall_/, "").replaceAll("_", " ")), cell, make("td", `${(100 * cycles / all).toFixed(1)} %`)]);
  }));
  const sms = recent.sms || [], most = Math.max(1e-9, ...sms.map((sm) => sm.ipc || 0)), names = state.reasons.map(([name]) => name);
  $("sms").replaceChildren(...sms.map((sm, number) => {
    const made = make("div"), fill = make("i");
    fill.style.height = `${100 * (sm.ipc || 0) / most}%`;
    made.append(fill, make("span", number), short(sm.ipc, 1));
    made.title = `SM ${number}\n` + names.map((name, i) => [name, sm.shares[i]]).filter(([, part]) => part > 0.005)
      .map(([name, part]) => `${name}: ${(100 * part).toFixed(0)} %`).join("\n");
    return made;
  }));
  $("totals").tBodies[0].replaceChildren(...state.totals.map(([name, value]) => row([make("td", name), make("td", count(value))])));
  if (state.waiting.number > 0) {
    $("waiting").hidden = false;
    $("lines").textContent = state.waiting.lines.join("\n") || "No unit waits.";
  }
}

async function look() {
  try {
    const answer = await ask("/state");
    if (answer.status === 401) {
      say("A token is required: open the address that the run prints, http://ADDRESS/#TOKEN.", true);
      return;
    }
    show(await answer.json());
    misses = 0;
  } catch {
    // The server ends with the run.
    if (++misses > 2) {
      say("The run has ended, or its host cannot be reached.", true);
      for (const id of ["pause", "list"]) $(id).disabled = true;
      return;
    }
  }
  setTimeout(look, 500);
}
$("pause").onclick = () => ask(paused ? "/resume" : "/pause", "POST");
$("list").onclick = () => ask("/list", "POST");
look();
