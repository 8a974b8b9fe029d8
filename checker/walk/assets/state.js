// The state: what the last step changed is marked, and stands first.
import { find, make } from "./dom.js";

const PARTS = [["process", "Processes"], ["network", "In flight"], ["checker", "What the checker notes"]];
const opened = new Map([["process", true], ["network", true], ["checker", false]]);
let onlyChanged = false;

export function showState(view) {
  const inside = find("#state .inside"), { place, about } = view;
  inside.replaceChildren();
  if (place.came) {
    const said = make("div", {class: "came"}, make("p", {}, make("b", {}, `${place.came.number}  ${place.came.headline}`)));
    if (place.came.message) said.append(make("p", {class: "faint"}, `received: ${place.came.message}`));
    inside.append(said);
  } else inside.append(make("p", {class: "faint"}, "The initial state."));
  const box = make("input", {type: "checkbox", id: "only-changed", on: {change: event => { onlyChanged = event.target.checked; showState(view); }}});
  box.checked = onlyChanged;
  inside.append(make("label", {class: "check", for: "only-changed"}, box, " only what the last step changed"));
  for (const [part, title] of PARTS) {
    const mine = place.fields.filter(f => f.kept === part);
    if (mine.length) inside.append(folded(part, title, mine, about.processes));
  }
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

function table(fields, processes) {
  const out = make("table", {});
  if (processes) out.append(make("thead", {}, make("tr", {}, make("td", {}), ...processes.map(p => make("th", {scope: "col"}, p)))));
  const body = make("tbody", {});
  for (const field of fields) body.append(make("tr", {class: changed(field) ? "changed" : "", "data-field": field.name}, make("th", {scope: "row", title: field.doc}, field.name), ...field.cells.map(value)));
  out.append(body);
  return out;
}

function value(cell) {
  if (!("was" in cell)) return make("td", {}, cell.now);
  return make("td", {class: "new"}, make("del", {}, cell.was), " \u2192 ", make("ins", {}, cell.now));
}
