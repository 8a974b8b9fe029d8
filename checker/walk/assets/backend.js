// Where views of addresses come from: a server, or the data in this file. Both answer alike.
import { readAddress, wayText, writeAddress } from "./address.js";

const KEPT = "zabcheck-walk-token";

export class Refusal extends Error {}

// The token is in the fragment of the address that was opened, and leaves it at once.
export function takeToken() {
  const found = /^#token=([0-9a-f]{32})(?:&(.*))?$/s.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEPT, found[1]);
    history.replaceState(null, "", found[2] ? `#${found[2]}` : location.pathname);
  }
  return sessionStorage.getItem(KEPT) || "";
}

export class ServerBackend {
  constructor(token) {
    this.token = token;
    this.serves = true;
  }

  async ask(what, given) {
    let answer;
    try {
      answer = await fetch(`/api/${what}`, {
        method: "POST", cache: "no-store", credentials: "omit", body: JSON.stringify(given || {}),
        headers: {"content-type": "application/json", "x-walk-token": this.token},
      });
    } catch {
      throw new Refusal("The server no longer answers: `zabcheck walk` has ended.");
    }
    const said = await answer.json();
    if (!answer.ok) throw new Refusal(said.error);
    return said;
  }

  start() { return this.ask("start"); }
  view(address) { return this.ask("view", {address}); }
}

export class FileBackend {
  constructor(data) {
    this.data = data;
    this.serves = false;
  }

  static async open(packed) {
    const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new FileBackend(JSON.parse(await new Response(stream).text()));
  }

  async start() { return {address: this.data.address, cards: []}; }

  async view(text) {
    const a = readAddress(text);
    const way = a.way.slice(0, a.at), found = this.data.views[wayText(way)];
    if (!found) {
      const on = writeAddress({...a, way});
      throw new Refusal(`This file has the states up to ${this.data.levels === 1 ? "1 step" : `${this.data.levels} steps`} away from its walk. To continue from here: zabcheck walk '${on}'`);
    }
    const whole = this.data.views[wayText(a.way)] ? a.way : way;
    const joined = kind => ({...found.picture[kind], body: found.picture[kind].body.map(k => this.data.parts[k]).join("")});
    const here = writeAddress({...a, way: whole});
    return {
      address: here, command: `zabcheck walk '${here}'`, about: this.data.about, ahead: whole.length - a.at,
      place: found, picture: {...found.picture, desk: joined("desk"), phone: joined("phone"), rows: found.picture.rows.map(k => JSON.parse(this.data.parts[k]))},
    };
  }
}
