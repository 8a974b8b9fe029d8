// The steps that are possible, by process, faults apart.
import { counted, find, following, make } from "./dom.js";

const FEW = 4;

export function showSteps(view, take) {
  const inside = find("#steps .inside"), steps = view.place.steps, bad = steps.filter(s => s.violates.length || s.fails).length;
  const red = bad ? make("span", {class: "bad"}, `, ${bad} of them ${bad === 1 ? "violates" : "violate"} a property`) : "";
  find("#steps-title").replaceChildren(steps.length ? `Possible steps (${steps.length})` : "Possible steps", red);
  inside.replaceChildren();
  if (!steps.length) {
    const failing = view.place.properties.some(p => p.name === "no-runtime-error");
    inside.append(make("p", {class: "faint"}, failing
      ? "Which steps are possible here cannot be listed: see the run-time error above."
      : "No step is possible here: this state is terminal. Backspace goes back."));
    return;
  }
  const who = view.about.processes.includes(following()) ? following() : "";
  const mine = steps.filter(s => !who || s.group === who || s.headline.startsWith(`${who}:`)), others = steps.filter(s => !mine.includes(s));
  inside.append(...groups(mine, take));
  if (!mine.length) inside.append(make("p", {class: "faint"}, `${who} has no possible step here.`));
  if (others.length) inside.append(make("details", {}, make("summary", {}, counted(others.length, "step") + " of others"), ...groups(others, take)));
  inside.scrollTop = 0;
}

function groups(steps, take) {
  return [...new Set(steps.map(s => s.group))].flatMap(group => [
    make("h3", {class: group === "faults" ? "fault" : ""}, group === "faults" ? "Faults" : group === "environment" ? "Environment" : group),
    make("ol", {class: "choices"}, ...steps.filter(s => s.group === group).map(s => choice(s, take)))]);
}

function choice(s, take) {
  const key = s.index < 9 ? make("kbd", {}, String(s.index + 1)) : make("span", {class: "number"}, String(s.index + 1));
  const named = make("button", {
    type: "button", class: "take", "data-index": s.index, "aria-keyshortcuts": s.index < 9 ? String(s.index + 1) : null,
    "aria-disabled": s.fails ? "true" : null, on: {click: () => take(s)},
  }, key, make("span", {class: "head"}, s.headline), s.alternative && make("span", {class: "more"}, s.alternative),
  ...s.spends.map(name => make("span", {class: "cost"}, `costs 1 of ${name}`)));
  const out = make("li", {class: s.violates.length || s.fails ? "choice bad-step" : "choice"}, named);
  if (s.violates.length) out.append(make("p", {class: "bad"}, `violates ${s.violates.join(", ")}`));
  if (s.fails) out.append(make("p", {class: "bad"}, `has a run-time error, so no state follows it: ${s.fails}`));
  if (s.message) out.append(make("p", {class: "faint message"}, s.message));
  for (const [name, said] of s.docs) out.append(make("p", {class: "words", title: said}, make("b", {}, name), ` ${said}`));
  if (s.changes.length) out.append(changes(s.changes));
  return out;
}

function changes(lines) {
  const list = shown => make("ul", {class: "changes"}, ...shown.map(line => make("li", {}, line)));
  if (lines.length <= FEW + 1) return list(lines);
  const rest = make("details", {}, make("summary", {}, `${counted(lines.length - FEW, "more change")}`), list(lines.slice(FEW)));
  return make("div", {}, list(lines.slice(0, FEW)), rest);
}
