// The properties at this state, and the budgets that are left.
import { counted, find, make } from "./dom.js";

let unfolded = false;

export function showBar(view, go) {
  const bar = find("#bar"), { place } = view;
  const bad = place.properties.filter(p => p.verdict !== "holds"), first = place.properties.filter(p => p.verdict === "holds" && p.premise_at === place.depth && place.depth > 0);
  bar.replaceChildren(budgets(place.budgets), ...bad.map(p => violated(p, place.depth, go)), ...first.map(p => met(p)), all(place));
}

function budgets(left) {
  if (!left.length) return make("p", {class: "budgets faint"}, "No more faults are possible: every budget is 0.");
  const list = left.map(b => make("li", {class: b.left ? "" : "spent"}, `${b.name} `, make("b", {}, String(b.left)), ` of ${b.of}`));
  return make("div", {class: "budgets"}, make("span", {class: "faint", id: "left"}, "left:"), make("ul", {"aria-labelledby": "left"}, ...list));
}

function when(p, depth) {
  if (p.verdict === "undecided") return "cannot be evaluated here";
  if (p.violated_at === null) return "violated by a step from here";
  return p.violated_at === depth ? "violated here" : `violated since step ${p.violated_at}`;
}

function violated(p, depth, go) {
  const out = make("div", {class: "verdict broken", "data-property": p.name},
    make("p", {}, make("b", {}, `\u2717 ${p.name}`), ` ${when(p, depth)}, because: ${p.because}`));
  if (p.events.length) {
    out.append(make("details", {}, make("summary", {}, `the ${counted(p.events.length, "event")} that show it`), make("ul", {class: "events"}, ...p.events.map(([number, said]) => make("li", {},
      make("button", {type: "button", class: "plain", on: {click: () => go(number)}}, `step ${number}`), `: ${said}`)))));
  }
  return out;
}

function met(p) {
  return make("p", {class: "verdict met", "data-property": p.name}, make("b", {}, `\u25cf ${p.name}`), ` premise first reached here: ${p.premise}. It holds here.`);
}

function said(p, depth) {
  if (p.verdict !== "holds") return when(p, depth);
  if (p.premise_at === null) return "holds here; premise not reached yet";
  return p.premise_at === depth ? "holds here; premise first reached here" : `holds here; premise first reached at step ${p.premise_at}`;
}

function all(place) {
  const known = place.properties, holds = known.filter(p => p.verdict === "holds"), met = holds.filter(p => p.premise_at !== null);
  const summary = known.length
    ? `${counted(holds.length, "property")} of ${known.length} ${holds.length === 1 ? "holds" : "hold"} here, ${met.length} of them with a premise that was reached`
    : "This protocol declares no property.";
  const rows = known.map(p => make("tr", {"data-property": p.name, class: p.verdict},
    make("th", {scope: "row"}, p.name), make("td", {}, said(p, place.depth)), make("td", {class: "faint"}, `${p.statement} [${p.source}]`)));
  const out = make("details", {class: "all"}, make("summary", {}, summary),
    make("div", {class: "wide", tabindex: 0, role: "group", "aria-label": "All properties"}, make("table", {}, make("tbody", {}, ...rows))));
  out.open = unfolded;
  out.addEventListener("toggle", () => { unfolded = out.open; });
  return out;
}
