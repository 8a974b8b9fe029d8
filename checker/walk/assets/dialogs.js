// What is asked beside the walk: keys, ways to a property, what to save.
import { announce, find, make } from "./dom.js";

const KEYS = [
  ["1-9", "take that step"], ["Backspace", "one step back"], ["\u2192", "one step forward in the current run"],
  ["Home, End", "to the first, to the last state of the run"], ["u, r", "undo, redo: as Back and Forward of the browser"],
  ["v", "a shortest run to a violation"], ["w", "a shortest run that reaches a premise"],
  ["s", "save the walk as a trace"], ["c", "copy the command that opens this state"], ["Tab, Enter", "everything else"], ["?", "this help"],
];

export function openDialog(title, ...inside) {
  const dialog = find("#dialog");
  const close = make("button", {type: "button", class: "close", "aria-label": "Close", on: {click: () => dialog.close()}}, make("span", {"aria-hidden": "true"}, "\u00d7"));
  dialog.replaceChildren(make("div", {class: "dialog-head"}, make("h2", {id: "dialog-title"}, title), close), ...inside);
  if (!dialog.open) dialog.showModal();
  return dialog;
}

export function help() {
  const rows = KEYS.map(([key, does]) => make("tr", {}, make("th", {scope: "row"}, make("kbd", {}, key)), make("td", {}, does)));
  openDialog("Keys", make("table", {}, make("tbody", {}, ...rows)),
    make("p", {class: "faint"}, "Steps and states are those of the interpreted model. A run that a search finds is replayed there before it is shown."));
}

export function cards(list, open) {
  let chosen = list[0].address;  // whoever closes this begins there: the page is never empty
  const all = list.map(c => make("li", {}, make("button", {type: "button", class: "card", on: {click: () => { chosen = c.address; find("#dialog").close(); }}},
    make("b", {}, c.title), make("span", {}, c.summary))));
  const dialog = openDialog("Start a walk", make("ul", {class: "cards"}, ...all),
    make("p", {}, make("b", {}, "My file"), ": end this with Ctrl-C, and begin with ", make("code", {}, "zabcheck walk --protocol FILE.py"), "; ", make("code", {}, "zabcheck init FILE.py"), " writes one as a starting point."),
    make("p", {class: "faint"}, "A trace file, a row such as ZK-4643, or any option of a model goes there too: a page may not read files."));
  dialog.addEventListener("close", () => open(chosen), {once: true});
  all[0].firstChild.focus();
}

// A list of properties; each begins a search.
export function jump(backend, view, goal, open) {
  const what = goal === "violation" ? "A shortest run to a violation" : "A shortest run that reaches a premise";
  const names = view.place.properties.filter(p => p.name !== "no-runtime-error");
  const rows = names.map(p => {
    const begin = (here, said) => make("button", {type: "button", "aria-label": `${p.name}, ${said}`, on: {click: () => search(backend, view, goal, p.name, here, open)}}, said);
    return make("li", {"data-property": p.name}, make("b", {}, p.name), make("span", {class: "faint"}, goal === "violation" ? ` ${p.statement}` : ` ${p.premise}`),
      make("span", {class: "two"}, begin(false, "from the beginning"), begin(true, "from here")));
  });
  const any = make("button", {type: "button", class: "primary", on: {click: () => search(backend, view, goal, "", false, open)}}, "Any property, from the initial state");
  openDialog(what, goal === "violation" ? make("p", {}, any) : "", make("ul", {class: "jumps"}, ...rows));
  if (goal === "violation") any.focus();
}

function search(backend, view, goal, property, here, open) {
  return followJob(backend, `${property || "Any property"}: searching for a run ${here ? "from here" : "from the beginning"}`,
    () => backend.ask("job", {address: view.address, goal, property, here}), open);
}

// A search at work: how far it is, and where it leads.
async function followJob(backend, title, begin, open) {
  const said = make("p", {role: "status"}, "looking ..."), stop = make("button", {type: "button"}, "Cancel");
  const dialog = openDialog(title, said, stop);
  let job = 0, over = false;
  const cancel = () => { if (!over && job) backend.ask("cancel", {job}).catch(() => {}); };
  const end = () => { cancel(); over = true; };
  stop.addEventListener("click", () => { end(); dialog.close(); });
  dialog.addEventListener("close", end, {once: true});
  try {
    job = (await begin()).job;
    if (over) { backend.ask("cancel", {job}); return; }
    for (let pause = 80; !over; pause = Math.min(1000, pause * 1.4)) {
      const now = await backend.ask("progress", {job});
      if (over) return;
      said.textContent = now.sentence;
      if (now.state === "running") { await new Promise(done => setTimeout(done, pause)); continue; }
      over = true;
      if (now.state !== "found") stop.textContent = "Close";
      else if (await open(now.address)) { dialog.close(); announce(now.sentence); }
    }
  } catch (problem) {
    over = true;
    said.textContent = problem.message;
    stop.textContent = "Close";
  }
}

export function choosePage(save) {
  const begin = levels => make("button", {type: "button", on: {click: () => { find("#dialog").close(); save(levels); }}}, levels === 1 ? "1 step around" : "2 steps around");
  openDialog("Save a page that needs no server", make("p", {}, "One file with this walk, and the states up to this many steps away from it. It opens from a folder or a mail."),
    make("p", {class: "two"}, begin(1), begin(2)));
}
