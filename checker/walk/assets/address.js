// An address of a place, as `traces/walk/address.py` writes it: zab?variant=...&at=3&way=0a1

const MANY = 35;

export function wayOf(text) {
  const out = [];
  for (let at = 0; at < text.length; ) {
    const piece = text[at] === "z" ? text.slice(at, at + 4) : text[at];
    out.push(parseInt(piece.replace("z", ""), 36));
    at += piece.length;
  }
  return out;
}

export function wayText(way) {
  return way.map(n => n < MANY ? n.toString(36) : "z" + n.toString(36).padStart(3, "0")).join("");
}

export function readAddress(text) {
  const [, head, tail] = /^([^?]*)\??(.*)$/.exec(text);
  const options = tail.split("&").filter(Boolean).map(part => part.split(/=(.*)/s));
  const given = new Map(options);
  const way = wayOf(given.get("way") || "");
  const at = given.has("at") ? Number(given.get("at")) : way.length;
  given.delete("way");
  given.delete("at");
  return {head, options: given, way, at};
}

export function writeAddress(a) {
  const said = [...a.options].map(([name, value]) => `${name}=${value}`);
  if (a.way.length) said.push(`at=${a.at}`, `way=${wayText(a.way)}`);
  return a.head + (said.length ? `?${said.join("&")}` : "");
}

// The address after one more step; the way beyond where one stands is given up unless the step is its own.
export function stepped(text, index) {
  const a = readAddress(text);
  if (a.way[a.at] !== index) a.way = [...a.way.slice(0, a.at), index];
  return writeAddress({...a, at: a.at + 1});
}

export function standing(text, at) {
  const a = readAddress(text);
  return writeAddress({...a, at: Math.max(0, Math.min(at, a.way.length))});
}
