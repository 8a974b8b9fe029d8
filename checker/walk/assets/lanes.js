// The way so far, as lanes: the heads stay in sight, a click on a step goes there.
import { drawing, find, following, make } from "./dom.js";

export function showLanes(view, go) {
  const inside = find("#lanes .inside"), { picture, place } = view;
  const left = inside.scrollLeft;
  inside.replaceChildren();
  if (!picture.headlines.length) {
    inside.append(make("p", {class: "faint"}, "Nothing has happened yet. Take a step: press its number, or click it."));
    return;
  }
  const room = Math.max(320, find("main").clientWidth * (innerWidth > 900 ? .46 : 1) - 30);
  const drawn = picture.desk.width > room ? picture.phone : picture.desk;
  const heads = make("div", {class: "heads"}, drawing(drawn.heads)), body = drawing(drawn.body);
  inside.append(heads, body);
  for (const ground of body.querySelectorAll("g.ground")) {
    const number = Number(ground.dataset.step);
    ground.classList.toggle("chosen", number === place.depth);
    ground.addEventListener("click", () => go(number));
  }
  const who = view.about.processes.includes(following()) ? following() : "";
  inside.append(asText(picture, place.depth, who, go));
  find("main").style.setProperty("--lanes", `${drawn.width + 20}px`);
  inside.scrollLeft = left;
  keepInSight(inside, heads, body.querySelector("g.chosen"), drawn.lanes[place.depth - 1]);
}

function keepInSight(inside, heads, chosen, lane) {
  if (!chosen) { inside.scrollTop = 0; return; }
  const wide = inside.clientWidth;
  if (lane !== undefined && (lane - 130 < inside.scrollLeft || lane + 130 > inside.scrollLeft + wide)) inside.scrollLeft = lane - wide / 2;
  const here = chosen.getBoundingClientRect(), frame = inside.getBoundingClientRect();
  const top = frame.top + heads.offsetHeight;
  if (here.top < top) inside.scrollTop -= top - here.top;
  else if (here.bottom > frame.bottom) inside.scrollTop += here.bottom - frame.bottom + 8;
}

// The steps; of a process that is followed those that it took or that changed it, with what they changed of it.
function asText(picture, at, who, go) {
  const item = (said, number, ...more) => make("li", {},
    make("button", {type: "button", class: "plain", "aria-current": number === at ? "step" : null, on: {click: () => go(number)}}, said), ...more);
  const own = said => new RegExp(`\\b${who}\\b`).test(said);
  const steps = picture.headlines.map((said, k) => {
    const [processes, ...changes] = picture.rows[k], mine = who ? changes.filter(own) : [];
    if (who && !processes.includes(who) && !mine.length) return "";
    return item(`${k + 1}  ${said}`, k + 1, mine.length ? make("ul", {class: "changes"}, ...mine.map(line => make("li", {}, line))) : "");
  });
  const out = make("details", {}, make("summary", {}, who ? `What happened to ${who}` : "The steps as text"), make("ol", {class: "way"}, item("0  the initial state", 0), ...steps.filter(Boolean)));
  out.open = Boolean(who);
  return out;
}
