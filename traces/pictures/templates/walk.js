"use strict";
const { make, folded } = page;
// A walk through the steps of a run: by keys, by clicks, by #step-17. Everything shown is set as text, never as markup.
const runs = [...document.querySelectorAll("section.run")].map(section => {
  const data = JSON.parse(section.querySelector("script.data").textContent);
  const panel = section.querySelector(".panel"), now = panel.querySelector(".now"), state = panel.querySelector(".state");
  const items = [...section.querySelectorAll("ol.steps > li")];
  let at = 0;

  function value(cell, step) {
    let out = "";
    for (const [since, said] of cell) { if (since > step) break; out = said; }
    return out;
  }

  // the processes whose fields change: the others would push these out of sight
  function concerned(step, fields) {
    const changes = k => fields.some(f => f.of === "process" && value(f.cells[k], step - 1) !== value(f.cells[k], step));
    return [...data.processes.keys()].filter(changes);
  }

  function rows(step, fields, only, columns) {
    const out = [];
    for (const field of fields) {
      const row = make("tr"), name = make("th", field.name);
      name.title = field.doc;
      row.append(name);
      let changes = false;
      for (const cell of field.of === "process" ? columns.map(k => field.cells[k]) : field.cells) {
        const before = value(cell, step - 1), after = value(cell, step), td = make("td");
        if (before !== after) {
          changes = true;
          td.className = "new";
          td.append(make("del", before), " \u2192 ", make("b", after));
        } else td.textContent = after;
        if (field.of !== "process") td.colSpan = columns.length;
        row.append(td);
      }
      if (changes || !only) out.push(row);
    }
    return out;
  }

  function table(step, fields, only) {
    const changed = only ? concerned(step, fields) : [];
    const columns = changed.length ? changed : [...data.processes.keys()];
    const out = make("table"), found = rows(step, fields, only, columns);
    if (!found.length) return make("p", "nothing", "faint");
    const head = make("tr");
    head.append(make("td"), ...columns.map(k => make("th", data.processes[k])));
    out.append(head, ...found);
    return out;
  }

  const opened = new Map();
  function show(step, scroll) {
    if (!(step >= 1 && step <= data.count)) return;
    at = step;
    panel.hidden = false;
    for (const x of section.querySelectorAll(".chosen")) x.classList.remove("chosen");
    for (const x of grounds(step)) x.classList.add("chosen");
    items.forEach((li, k) => li.classList.toggle("now", k + 1 === step));
    const copy = items[step - 1].cloneNode(true);
    copy.removeAttribute("id");
    now.replaceChildren(make("h4", `Step ${step} of ${data.count}`), ...copy.childNodes);
    for (const d of state.querySelectorAll("details")) opened.set(d.firstChild.textContent, d.open);
    const part = (title, kept, only, usual) => {
      const fields = data.fields.filter(f => f.kept === kept);
      return fields.length ? [folded(title, table(step, fields, only), opened.get(title) ?? usual)] : [];
    };
    state.replaceChildren(
      ...part("What changed, before \u2192 after", "process", true, true),
      ...part("The whole state", "process", false, false),
      ...part("The network", "network", false, false),
      ...part("What the checker notes", "checker", false, false),
    );
    if (!scroll) return;
    unfold(items[step - 1].closest("details.steps-folded")?.dataset.part);
    const row = grounds(step).find(x => x.getClientRects().length);
    if (row) row.scrollIntoView({ block: "center", inline: "nearest" });
  }

  // a step's ground in the diagram, of which there is one for a phone and one for what is wider
  const grounds = step => [...section.querySelectorAll(`.diagram g.ground[data-step="${step}"]`)];

  // a stretch is folded in the diagram and in the text alike
  const stretches = [...section.querySelectorAll("details.steps-folded")];
  function unfold(part, open = true) {
    for (const e of stretches) if (e.dataset.part === part) e.open = open;
  }
  for (const e of stretches) e.addEventListener("toggle", () => unfold(e.dataset.part, e.open));

  // from one step to the next no trace is left for Back; of a jump one is
  function go(step, jump = true, scroll = true) {
    const to = Math.min(data.count, Math.max(1, step));
    if (!data.count) return;
    page.go(`${section.dataset.name}step-${to}`, jump);
    show(to, scroll);
  }

  const moves = {
    first: () => go(1), last: () => go(data.count), on: () => go(at + 1, false), back: () => go(at - 1, false),
    next: () => go(data.named.find(n => n > at) ?? at), before: () => go(data.named.findLast(n => n < at) ?? at),
    full: () => {
      const walk = section.querySelector(".walk");
      if (walk.classList.contains("slides")) walk.classList.remove("slides");
      else document.fullscreenElement ? document.exitFullscreen() : walk.requestFullscreen();
    },
  };
  section.addEventListener("click", event => {
    current = run;
    const button = event.target.closest("[data-go]"), place = event.target.closest("[data-step]");
    if (button) moves[button.dataset.go]();
    else if (place && !String(getSelection())) {
      if (event.target.closest("a")) event.preventDefault();
      go(Number(place.dataset.step), true, !!event.target.closest("a"));
    }
  });
  const run = { section, data, moves, show };
  return run;
});
let current = runs[0];

const keys = { ArrowRight: "on", j: "on", ArrowLeft: "back", k: "back", n: "next", p: "before", Home: "first", End: "last", f: "full" };
document.addEventListener("keydown", event => {
  const move = keys[event.key];
  if (!current || !move || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  current.moves[move]();
});

function showAll() {
  for (const run of runs) run.show(run.data.named.at(-1) ?? Math.min(1, run.data.count), false);
}
showAll();
page.arrive(place => {
  if (place === "slides" && current) {
    // a page may not take the screen before somebody presses a key: it fills its window
    current.section.querySelector(".walk").classList.add("slides");
    return current.moves.first();
  }
  const found = /^(.*)step-(\d{1,6})$/.exec(place);
  const run = found && runs.find(r => r.section.dataset.name === found[1]);
  if (!run) return place ? undefined : showAll();
  current = run;
  run.show(Number(found[2]), true);
});
