// The bridge interface of wit/codemode.wit in JavaScript, over a small catalog of its own: every function of the
// interface, and nothing beside them that a guest could call. Names, enumerations and options are what jco makes of the
// WIT's: `out-of-memory` is outOfMemory, an enumeration is its case's name, an option is the value or undefined.

import { setTimeout } from "node:timers/promises";

/** Where a bridge's catalog keeps a tool below a namespace, so that calls by path have something to call. */
const NAMESPACE = ["MCP", "MCP.demo"];
const FILES = { "demo/README.md": "Tools: add, refuse.\n" };

const TOOLS = {
  add: {
    description: "Adds two numbers",
    input: "{ a: number; b: number }",
    output: "number",
    async run({ a, b }) {
      await setTimeout(5); // a tool's answer never comes while the guest runs
      return a + b;
    },
  },
  refuse: {
    description: "Always fails",
    input: "{}",
    output: "never",
    async run() {
      throw Object.assign(new Error("refused, as always"), { code: "refused", effectStatus: "none" });
    },
  },
};

const id = (name) => `host:${name}`;
const compact = (name) => ({ id: id(name), name, source: "host", description: TOOLS[name].description });
const handle = (name) => {
  const { description, input, output } = TOOLS[name];
  return { callableName: name, toolName: name, source: "host", label: name, description, input, output };
};

/** The tool's name that a request means, by the way in which it names it. */
function find(binding, name) {
  const names = Object.keys(TOOLS);
  const found = {
    reference: () => names.find((n) => n === name || id(n) === name),
    callable: () => names.find((n) => n === name),
    path: () => names.find((n) => `MCP.demo.${n}` === name),
  }[binding]();
  if (!found) throw Object.assign(new Error(`no tool ${name}`), { code: "unknown_tool" });
  return found;
}

export class Bridge {
  /** What the cell emitted, in order. */
  output = [];
  /** The tool calls it made. */
  calls = [];

  #pending = new Map(); // id of a request => {reply, abort}
  #saved = new Map();
  #deadline;

  constructor(timeoutMs) {
    this.#deadline = performance.now() + timeoutMs;
  }

  get waits() {
    return this.#pending.size > 0;
  }

  /** The first answer to what is pending, as settle takes it. */
  async answer() {
    const reply = await Promise.race([...this.#pending.values()].map((request) => request.reply));
    this.#pending.delete(reply.id);
    return reply;
  }

  /** Gives up everything that is pending. */
  close() {
    for (const id of [...this.#pending.keys()]) this.#cancel(id);
  }

  /** Writes a request down. `work` starts when the guest has returned, and its outcome is the answer. */
  #ask(id, work) {
    if (id === 0 || this.#pending.has(id)) throw new Error(`request id ${id} is in use`);
    const abort = new AbortController();
    const reply = Promise.resolve()
      .then(() => work(abort.signal))
      .then(
        (value) => ({ id, ok: true, payload: JSON.stringify(value ?? null) }),
        ({ message, code, tool, effectStatus }) => ({
          id,
          ok: false,
          payload: JSON.stringify({ message, code, tool, effectStatus }),
        }),
      );
    this.#pending.set(id, { reply, abort });
  }

  #cancel(id) {
    this.#pending.get(id)?.abort.abort();
    this.#pending.delete(id);
  }

  #kept(reference) {
    if (!this.#saved.has(reference)) throw Object.assign(new Error(`no saved result ${reference}`), { code: "not_found" });
    return this.#saved.get(reference);
  }

  #resolve(path) {
    const node = (standing, binding, name, data) => ({ standing, binding, name, data: data ? JSON.stringify(data) : "" });
    if (path === "ALL_TOOLS") return node("value", "reference", "", Object.keys(TOOLS).map(compact));
    if (NAMESPACE.includes(path)) return node("namespace", "reference", "");
    for (const name of Object.keys(TOOLS)) {
      if (path === name || path === `tools.${name}`) return node("tool", "callable", name, handle(name));
      if (path === `MCP.demo.${name}`) return node("tool", "path", path);
    }
    return undefined;
  }

  /** The functions that the guest imports. */
  imports() {
    return {
      call: (id, binding, tool, input, shape, { line, column }) => {
        const given = JSON.parse(input); // text that is not JSON ends the cell
        this.calls.push({ id, binding, tool, input: given, shape, line, column });
        this.#ask(id, async () => {
          const name = find(binding, tool);
          const value = await TOOLS[name].run(binding === "path" ? (given[0] ?? {}) : given).catch((error) => {
            throw Object.assign(error, { tool: name });
          });
          return shape === "envelope" ? { tool: compact(name), result: value } : value;
        });
      },
      search: (id, query, limit, surface) =>
        this.#ask(id, () => {
          const words = query.toLowerCase().split(/\W+/).filter(Boolean);
          return Object.keys(TOOLS)
            .filter((name) => words.some((word) => `${name} ${TOOLS[name].description}`.toLowerCase().includes(word)))
            .slice(0, limit || 8)
            .map(surface === "tools" ? compact : handle);
        }),
      describe: (id, binding, tool) =>
        this.#ask(id, () => {
          const name = find(binding, tool);
          return { ...handle(name), ...compact(name) };
        }),
      cancel: (id) => this.#cancel(id),
      timer: (id, milliseconds) => this.#ask(id, (signal) => setTimeout(milliseconds, null, { signal })),
      // There is nothing to suspend for: this host's cell stays where it is and goes on.
      yield: (id, reason) => this.#ask(id, () => ({ status: "yielded", reason: reason ?? null })),
      text: (value) => void this.output.push({ type: "text", text: value }),
      json: (value) => void this.output.push({ type: "json", value: JSON.parse(value) }),
      resolve: (path) => this.#resolve(path),
      names: (path) => {
        const tools = Object.keys(TOOLS);
        const below = { "": [...tools, "MCP", "ALL_TOOLS"], tools, MCP: ["demo"], "MCP.demo": tools };
        return JSON.stringify(below[path] ?? []);
      },
      entries: (listing) => JSON.stringify(Object.keys(TOOLS).map(listing === "all-tools" ? compact : handle)),
      files: (prefix) =>
        JSON.stringify(
          Object.keys(FILES)
            .filter((path) => path.startsWith(prefix))
            .map((path) => ({ path, bytes: Buffer.byteLength(FILES[path]) })),
        ),
      file: (path) =>
        path in FILES ? JSON.stringify({ path, content: FILES[path], bytes: Buffer.byteLength(FILES[path]) }) : undefined,
      save: (id, value) => {
        const kept = JSON.parse(value);
        this.#ask(id, () => {
          const reference = `result:${this.#saved.size + 1}`;
          this.#saved.set(reference, kept);
          return { id: reference };
        });
      },
      load: (id, reference) => this.#ask(id, () => this.#kept(reference)),
      drop: (id, reference) =>
        this.#ask(id, () => {
          this.#kept(reference);
          return this.#saved.delete(reference);
        }),
      now: () => BigInt(Date.now()) * 1_000_000n,
      entropy: () => crypto.getRandomValues(new BigUint64Array(1))[0],
      interrupted: () => performance.now() > this.#deadline,
      outOfMemory: () => {
        throw new Error("out of memory");
      },
    };
  }
}
