// The guest API, evaluated once when the guest is built. Everything it needs from the language is captured here, before
// a cell can change it; everything it exposes is read-only.

import { makeConsole } from "./console";

type Shape = 0 | 1; // value, envelope
type Binding = 0 | 1 | 2; // reference, callable, path

/** The native functions of the C side. No cell ever sees this object. */
interface Host {
  tool(name: string, binding: Binding): (input?: unknown) => Promise<unknown>;
  call(reference: string, input: unknown, shape: Shape): Promise<unknown>;
  /** `convert` makes the promise's value of the host's answer. */
  search(query: string, limit: number, surface: 0 | 1, convert?: (hits: Description[]) => unknown): Promise<unknown[]>;
  describe(name: string, binding: Binding): Promise<unknown>;
  yield(reason?: string): Promise<unknown>;
  timer(milliseconds: number, callback: () => void): number;
  clear(id: number): void;
  text(value: unknown): void;
  json(value: unknown): void;
  entries(listing: 0 | 1): Description[];
  files(prefix: string): unknown[] | undefined;
  file(path: string): { path: string; content: string } | undefined;
  save(value: unknown): Promise<unknown>;
  load(id: string): Promise<unknown>;
  drop(id: string): Promise<unknown>;
  scope(path: string): object;
}

/** What the host says of a callable tool. */
interface Description {
  callableName: string;
  [field: string]: unknown;
}

/** What the host says stands at a name. */
type Node =
  | { kind: "tool"; binding: Binding; name: string; description?: Description }
  | { kind: "namespace"; values?: Record<string, unknown> }
  | { kind: "value"; value: unknown };

export default function boot(host: Host) {
  const { defineProperty, freeze, create, keys } = Object;
  const { apply, ownKeys } = Reflect;
  const global = globalThis;
  const TypeErrorOf = TypeError;
  const StringOf = String;
  const NumberOf = Number;
  const { floor } = Math;
  const { isFinite, isInteger } = Number;
  const PromiseOf = Promise;
  const reject = PromiseOf.reject;
  const map = Array.prototype.map;
  const trim = String.prototype.trim;

  /** A data property that nobody can change. */
  function fixed(target: object, name: string, value: unknown, enumerable = true) {
    const d = create(null);
    d.value = value;
    d.enumerable = enumerable;
    d.writable = false;
    d.configurable = false;
    defineProperty(target, name, d);
  }

  function invalid(message: string): Promise<never> {
    const error = new TypeErrorOf(message);
    defineProperty(error, "code", { __proto__: null, value: "invalid_input", enumerable: true } as PropertyDescriptor);
    return apply(reject, PromiseOf, [error]);
  }

  function deepFreeze(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) deepFreeze((value as Record<PropertyKey, unknown>)[names[i]]);
    return freeze(value);
  }

  // --- handles: a tool's function with what the catalog says of it. One for each tool and cell. ---

  let handles = create(null) as Record<string, unknown>;

  function handle(path: string, binding: Binding, name: string, description?: Description): unknown {
    const kept = handles[path];
    if (kept !== undefined) return kept;
    const f = host.tool(name, binding);
    if (description) {
      const fields = ownKeys(description) as string[];
      for (let i = 0; i < fields.length; i++) fixed(f, fields[i], description[fields[i]]);
      fixed(f, "describe", () => host.describe(name, binding));
      fixed(f, "toJSON", () => description, false);
      freeze(description);
    }
    fixed(f, "name", name, false);
    handles[path] = freeze(f);
    return f;
  }

  function handleOf(description: Description): unknown {
    const name = description.callableName;
    return handle(name, description.source === "mcp" ? 2 : 1, name, description);
  }

  function materialise(path: string, node: Node): unknown {
    if (node.kind === "tool") return handle(node.binding === 1 ? node.name : path, node.binding, node.name, node.description);
    if (node.kind === "value") return deepFreeze(node.value);
    return host.scope(path);
  }

  // --- search ---

  function limitOf(options: unknown): number | string {
    if (typeof options !== "object" || options === null) return 0;
    const limit = (options as { limit?: unknown }).limit;
    if (typeof limit !== "number") return 0;
    if (limit !== limit || limit === Infinity) return 0;
    if (limit < 1 || !isInteger(limit)) return "limit must be a positive whole number";
    return limit;
  }

  function search(query: unknown, options: unknown, surface: 0 | 1, convert?: (hits: Description[]) => unknown): Promise<unknown[]> {
    if (typeof query !== "string") return invalid("search needs its query as a string, for example search(\"send mail\")");
    const limit = limitOf(options);
    if (typeof limit === "string") return invalid(limit);
    return host.search(query, limit, surface, convert);
  }

  const catalog = create(null);
  const handlesOf = (descriptions: Description[]) => freeze(apply(map, descriptions, [handleOf]));
  fixed(catalog, "search", (query: unknown, options?: unknown) => search(query, options, 1, handlesOf));
  fixed(catalog, "all", () => handlesOf(host.entries(1)));

  // --- tools ---

  function reference(value: unknown, what: string): string | undefined {
    if (typeof value === "string") return value;
    if (typeof value === "function" && typeof (value as unknown as Description).callableName === "string")
      return (value as unknown as Description).callableName;
    if (typeof value === "object" && value !== null && typeof (value as { id?: unknown }).id === "string")
      return (value as { id: string }).id;
    return undefined;
  }

  const tools = host.scope("tools") as Record<string, unknown>;
  const needsId = (what: string) => invalid(`tools.${what} needs the tool's id or name as a string`);
  fixed(tools, "search", (query: unknown, options?: unknown) => search(query, options, 0));
  fixed(tools, "describe", (id: unknown) => {
    const name = reference(id, "describe");
    return name === undefined ? needsId("describe") : host.describe(name, 0);
  });
  fixed(tools, "call", (id: unknown, input?: unknown) => {
    const name = reference(id, "call");
    return name === undefined ? needsId("call") : host.call(name, input, 1);
  });
  fixed(tools, "callValue", (id: unknown, input?: unknown) => {
    const name = reference(id, "callValue");
    return name === undefined ? needsId("callValue") : host.call(name, input, 0);
  });

  // --- output ---

  const text = (value: unknown) => host.text(value);
  const json = (value: unknown) => host.json(value);
  const yield_control = (reason?: unknown) => host.yield(reason === undefined || reason === null ? undefined : StringOf(reason));

  // --- timers ---

  function setTimeout(callback: unknown, delay?: unknown, ...args: unknown[]): number {
    if (typeof callback !== "function") throw new TypeErrorOf("setTimeout needs a function as its first argument");
    let ms = NumberOf(delay);
    ms = isFinite(ms) ? floor(ms) : 0;
    if (ms < 0) ms = 0;
    if (ms > 2147483647) ms = 2147483647;
    return host.timer(ms, () => void apply(callback as () => void, undefined, args));
  }
  function clearTimeout(id?: unknown): void {
    if (typeof id === "number" && id > 0) host.clear(id);
  }

  // --- virtual files ---

  const API = create(null);
  fixed(API, "list", async function list(prefix?: unknown) {
    if (prefix !== undefined && prefix !== null && typeof prefix !== "string") return invalid("API.list takes a path prefix as a string");
    const files = host.files((prefix as string) ?? "");
    if (files === undefined) return invalid(`not a path of API files: ${prefix}`);
    const result = create(null);
    result.files = deepFreeze(files);
    return result;
  });
  fixed(API, "read", async function read(path: unknown) {
    if (typeof path !== "string" || apply(trim, path, []) === "") return invalid("API.read needs the path of a file, as API.list gives it");
    const file = host.file(path);
    if (file === undefined) return invalid(`no such API file: ${path}`);
    return freeze(file);
  });

  // --- results kept for later cells ---

  const results = create(null);
  fixed(results, "save", (value: unknown) => host.save(value));
  fixed(results, "load", (id: unknown) =>
    typeof id === "string" && id !== "" ? host.load(id) : invalid("results.load needs the id of a saved result"));
  fixed(results, "delete", (id: unknown) =>
    typeof id === "string" && id !== "" ? host.drop(id) : invalid("results.delete needs the id of a saved result"));

  const console = makeConsole(text);

  // Everything is defined last and at once, so that a name above always means the language's own.
  freeze(catalog);
  freeze(API);
  freeze(results);
  const globals: Record<string, unknown> = { API, catalog, tools, results, console, text, json, yield_control, setTimeout, clearTimeout };
  const names = keys(globals);
  for (let i = 0; i < names.length; i++) fixed(global, names[i], globals[names[i]]);
  for (const f of [text, json, yield_control, setTimeout, clearTimeout]) freeze(f);
  // After the build's trial run: no name of it may be known to a cell.
  const reset = () => void (handles = create(null));
  return { materialise, reset };
}
