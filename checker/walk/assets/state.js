// The state: what the last step changed is marked, and stands first.
import { find, follow, following, make } from "./dom.js";

const PARTS = [["process", "Processes"], ["network", "In flight"], ["checker", "What the checker notes"]];
const opened = new Map([["process", true], ["network", true], ["checker", false]]);
let onlyChanged = false;

export function showState(view, again) {
  const inside = find("#state .inside"), { place, about } = view;
  inside.replaceChildren();
  if (place.came) {
    const said = make("div", {class: "came"}, make("p", {}, make("b", {}, `${place.came.number}  ${place.came.headline}`)));
    if (place.came.message) said.append(make("p", {class: "faint"}, `received: ${place.came.message}`));
    inside.append(said);
  } else inside.append(make("p", {class: "faint"}, "The initial state."));
  const box = make("input", {type: "checkbox", id: "only-changed", on: {change: event => { onlyChanged = event.target.checked; showState(view, again); }}});
  box.checked = onlyChanged;
  inside.append(make("div", {class: "two state-tools"}, make("label", {class: "check", for: "only-changed"}, box, " only what the last step changed"), follows(about.processes, again)));
  for (const [part, title] of PARTS) {
    const mine = place.fields.filter(f => f.kept === part);
    if (mine.length) inside.append(folded(part, title, mine, about.processes));
  }
}

function follows(processes, again) {
  const choose = make("select", {id: "follow", on: {change: event => { follow(event.target.value); again(); find("#follow").focus(); }}},
    make("option", {value: ""}, "everyone"), ...processes.map(p => make("option", {value: p}, p)));
  choose.value = processes.includes(following()) ? following() : "";
  return make("label", {class: "check", for: "follow"}, "follow ", choose);
}

function changed(field) {
  return field.cells.some(cell => "was" in cell);
}

function folded(part, title, fields, processes) {
  const count = fields.filter(changed).length;
  const out = make("details", {}, make("summary", {}, title, count ? make("span", {class: "count"}, ` ${count} changed`) : ""));
  out.open = opened.get(part);
  out.addEventListener("toggle", () => opened.set(part, out.open));
  const rows = fields.filter(f => changed(f) || !onlyChanged);
  if (!rows.length) out.append(make("p", {class: "faint"}, "nothing"));
  for (const each of [true, false]) {
    const mine = rows.filter(f => (f.of === "process") === each);
    if (mine.length) out.append(make("div", {class: "wide", tabindex: 0, role: "group", "aria-label": title}, table(mine, each ? processes : null)));
  }
  return out;
}

function table(fields, all) {
  const alone = all && all.includes(following()) ? all.indexOf(following()) : -1;
  const processes = all && alone >= 0 ? [all[alone]] : all;
  const cells = field => (alone >= 0 ? [field.cells[alone]] : field.cells);
  const out = make("table", {});
  if (processes) out.append(make("thead", {}, make("tr", {}, make("td", {}), ...processes.map(p => make("th", {scope: "col"}, p)))));
  const body = make("tbody", {});
  for (const field of fields) body.append(make("tr", {class: changed(field) ? "changed" : "", "data-field": field.name}, make("th", {scope: "row", title: field.doc}, field.name), ...cells(field).map(value)));
  out.append(body);
  return out;
}

function value(cell) {
  if (!("was" in cell)) return make("td", {}, cell.now);
  return make("td", {class: "new"}, make("del", {}, cell.was), " \u2192 ", make("ins", {}, cell.now));
}
