// What is asked beside the walk: keys, ways to a property, what to save.
import { announce, find, make } from "./dom.js";
import { pairOf } from "./pair.js";
import { readAddress, standing } from "./address.js";

let asked = "";
const KEYS = [
  ["1-9", "take that step"], ["Backspace", "one step back"], ["\u2192", "one step forward in the current run"],
  ["Home, End", "to the first, to the last state of the run"], ["u, r", "undo, redo: as Back and Forward of the browser"],
  ["v", "a shortest run to a violation"], ["w", "a shortest run that reaches a premise"],
  ["/", "search for a state by an expression"], ["=", "compare with another model"], ["l", "which lines of the protocol ran, and which never do"], ["s", "save the walk as a trace"], ["c", "copy the command that opens this state"], ["Tab, Enter", "everything else"], ["?", "this help"],
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
    () => backend.ask("job", {address: view.address, goal, property, here}), there(open));
}

// A search at work: how far it is, and where it leads. `arrive` shows what came of it; a search with `enough` has that
// to show also when it is ended early.
async function followJob(backend, title, begin, arrive, enough) {
  const said = make("p", {role: "status"}, "looking ..."), stop = make("button", {type: "button"}, enough ? "Enough" : "Cancel");
  const dialog = openDialog(title, said, stop);
  let job = 0, over = false;
  const cancel = () => { if (!over && job) backend.ask("cancel", {job}).catch(() => {}); };
  const end = () => { cancel(); over = true; };
  stop.addEventListener("click", () => { if (enough && !over) cancel(); else { end(); dialog.close(); } });
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
      if (now.state === "found") await arrive(now, dialog); else stop.textContent = "Close";
    }
  } catch (problem) {
    over = true;
    said.textContent = problem.message;
    stop.textContent = "Close";
  }
}

function there(open) {
  return async (now, dialog) => { if (await open(now.address)) { dialog.close(); announce(now.sentence); } };
}

// A state of which an expression is true: typed, with the names that there are.
export async function findState(backend, view, open) {
  const { names, quantifiers } = await backend.ask("names", {address: view.address});
  const field = make("input", {type: "text", id: "expression", autocomplete: "off", spellcheck: "false", autocapitalize: "off", value: asked, placeholder: "two p: p.role == LEADING", "aria-describedby": "expression-help"});
  const near = make("div", {class: "two", "aria-label": "Names", role: "group"});
  const complete = () => {
    const word = /[\w]*$/.exec(field.value.slice(0, field.selectionStart))[0];
    const fit = word ? [...quantifiers, ...names].filter(name => name.toLowerCase().startsWith(word.toLowerCase()) && name !== word).slice(0, 8) : [];
    near.replaceChildren(...fit.map(name => make("button", {type: "button", on: {click: () => {
      const at = field.selectionStart;
      field.setRangeText(name, at - word.length, at, "end");
      field.focus();
      complete();
    }}}, name)));
  };
  field.addEventListener("input", complete);
  const begin = here => {
    asked = field.value;
    followJob(backend, `Searching for a state with ${asked}`, () => backend.ask("search", {address: view.address, expression: asked, here}), there(open));
  };
  const form = make("form", {on: {submit: event => { event.preventDefault(); begin(false); }}},
    make("label", {for: "expression", class: "check"}, "A state with"), field, near,
    make("div", {class: "two"}, make("button", {type: "submit", class: "primary"}, "Shortest run from the initial state"),
      make("button", {type: "button", on: {click: () => begin(true)}}, "Shortest run from here")));
  openDialog("Search", form, make("p", {id: "expression-help", class: "faint"},
    `${quantifiers.join(", ")} say of how many processes it is true, two and three of how many at least: some p: len(p.history) > 1 and p.role == LEADING. Without them it is of the whole state: losses_left == 0.`));
  field.focus();
}

// The lines of the protocol: which ran on the way to here, which would in a step that was possible, which in neither.
export async function cover(backend, view) {
  const { functions } = await backend.ask("cover", {address: view.address});
  const total = mark => functions.reduce((sum, f) => sum + f[mark], 0);
  const all = make("button", {type: "button", class: "primary", on: {click: () => everything(backend, view)}}, "In every run: which lines never ran?");
  openDialog("Which lines ran", make("p", {}, `On the run to here ${total("ran")} lines of the protocol ran. ${total("possible")} more run in a step that was possible on it and not taken; ${total("never")} in neither.`),
    make("p", {class: "faint"}, "Only this run counts: other runs may reach them."), make("p", {}, all), ...functions.map(f => source(f, "in neither")));
}

// Which lines and steps never ran in all that can be looked at from the initial state.
function everything(backend, view) {
  followJob(backend, "Searching for lines that never run", () => backend.ask("lines", {address: view.address}), found => {
    const word = found.complete ? "never" : "not yet", missing = found.functions.filter(f => f.never), rest = found.functions.filter(f => !f.never);
    const dialog = openDialog(found.complete ? "Lines that never ran" : "Lines that have not run yet", make("p", {}, make("b", {}, `${found.sentence[0].toUpperCase()}${found.sentence.slice(1)}.`)),
      found.steps.length ? make("p", {}, `Steps that did not run: ${found.steps.join(", ")}.`) : "", ...missing.map(f => source(f, word)),
      rest.length ? make("h3", {}, "Every line ran") : "", ...rest.map(f => source(f, word)));
    for (const each of [...dialog.querySelectorAll("details")].slice(0, Math.min(3, missing.length))) each.open = true;
  }, true);
}

// A function with its lines, and whether each ran; `word` says of those that did not what is known of them.
function source(f, word) {
  const said = mark => mark === "never" ? word : mark;
  const lines = f.lines.map(([number, text, mark]) => make("li", {class: mark ? `line ${mark}` : "line"}, make("span", {class: "number"}, String(number)), make("code", {}, text || " "), mark ? make("span", {class: "mark"}, said(mark)) : ""));
  return make("details", {}, make("summary", {}, make("b", {}, f.name), make("span", {class: "count"}, ` ${f.ran} of ${f.ran + f.possible + f.never} lines ran${f.never ? `, ${f.never} ${word}` : ""}`)),
    make("div", {class: "wide", tabindex: 0, role: "group", "aria-label": f.name}, make("ol", {class: "source"}, ...lines)));
}

export function choosePage(save) {
  const begin = levels => make("button", {type: "button", on: {click: () => { find("#dialog").close(); save(levels); }}}, levels === 1 ? "1 step around" : "2 steps around");
  openDialog("Save a page that needs no server", make("p", {}, "One file with this walk, and the states up to this many steps away from it. It opens from a folder or a mail."),
    make("p", {class: "two"}, begin(1), begin(2)));
}

// The same schedule in another model: where both first differ.
export async function compare(backend, view, go, open) {
  const { others } = await backend.ask("others", {address: view.address});
  const field = make("input", {type: "text", id: "other", autocomplete: "off", value: others.length ? others[0][1] : "", "aria-describedby": "other-help"});
  const choose = make("select", {"aria-label": "Models to compare with", on: {change: event => { field.value = event.target.value; }}}, ...others.map(([name, address]) => make("option", {value: address}, name)));
  const result = make("div", {role: "status"});
  const begin = async () => {
    result.replaceChildren("walking ...");
    try {
      const other = field.value.trim();
      result.replaceChildren(...told(await backend.ask("compare", {address: view.address, other}), view, go, open));
    } catch (problem) {
      result.replaceChildren(make("p", {class: "bad"}, problem.message));
    }
  };
  const form = make("form", {on: {submit: event => { event.preventDefault(); begin(); }}}, make("label", {for: "other", class: "check"}, "Another model, as an address names it"), field, make("button", {type: "submit", class: "primary"}, "Compare"));
  openDialog("This walk in another model", others.length ? choose : "", form,
    make("p", {id: "other-help", class: "faint"}, "Such as zookeeper?release=3.9.5&start=established, or zab?nodes=2."), result);
}

// Opens both models beside each other; this page stays behind it, for Back.
function beside(view, c) {
  history.pushState(null, "", `#${pairOf(view.address, standing(c.address, readAddress(view.address).at))}`);
  location.reload();
}

function told(c, view, go, open) {
  const out = [make("p", {}, make("b", {}, c.sentence))], first = c.first, dialog = find("#dialog");
  out.push(make("p", {}, make("button", {type: "button", class: "primary", on: {click: () => beside(view, c)}}, "Side by side")));
  if (first) {
    const only = (names, title) => names.length ? make("div", {}, make("h3", {}, title), make("ul", {class: "changes"}, ...names.map(name => make("li", {}, name)))) : "";
    out.push(only(first.left, "Possible only in this model"), only(first.right, "Possible only in the other"));
    if (first.fields.length) out.push(make("div", {class: "wide", tabindex: 0, role: "group", "aria-label": "Fields that differ"}, make("table", {},
      make("thead", {}, make("tr", {}, make("td", {}), make("th", {scope: "col"}, "this model"), make("th", {scope: "col"}, "the other"))),
      make("tbody", {}, ...first.fields.map(([name, left, right]) => make("tr", {}, make("th", {scope: "row"}, name), make("td", {}, left), make("td", {}, right)))))));
    out.push(make("p", {class: "two"},
      make("button", {type: "button", on: {click: () => { dialog.close(); go(first.at); }}}, `Go to step ${first.at} here`),
      make("button", {type: "button", on: {click: () => { dialog.close(); open(first.address); }}}, `Go to step ${first.at} of the other`)));
  } else out.push(make("p", {class: "two"}, make("button", {type: "button", on: {click: () => { dialog.close(); open(c.address); }}}, "Go to the other")));
  if (c.uncompared.length) out.push(make("p", {class: "faint"}, `Not compared, as only one of the models has them: ${c.uncompared.join(", ")}.`));
  return out;
}
