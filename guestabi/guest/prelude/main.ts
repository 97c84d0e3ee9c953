// The guest API, evaluated once when the guest is built. Everything it needs from the language is captured here, before
// a cell can change it; everything it exposes is read-only.

import { makeAbort } from "./abort";
import { makeClone } from "./clone";
import { makeCoding } from "./coding";
import { makeConsole } from "./console";
import { makeCrypto } from "./crypto";
import type { Description, Host } from "./host";
import {
  apply, create, defineProperty, fixed, freeze, getOwnPropertyDescriptor, includes, invalid, isInteger, ownKeys, push, put, slice, StringOf, trim,
} from "./primordials";
import { makePerformance, makeTimers } from "./timers";
import { makeURL } from "./url";

export default function boot(host: Host) {
  const global = globalThis;

  function deepFreeze(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) deepFreeze((value as Record<PropertyKey, unknown>)[names[i]]);
    return freeze(value);
  }

  /** A field of what the host said, and of nothing that a cell put on Object.prototype. */
  function said(object: object, name: string): any {
    const d = getOwnPropertyDescriptor(object, name);
    return d ? d.value : undefined;
  }

  function handleOf(description: Description): unknown {
    const name: string = said(description, "callableName");
    return host.handle(name, name, said(description, "source") === "mcp" ? 2 : 1, description);
  }

  const namespaces = "namespaces.";

  function materialise(path: string, value: unknown): unknown {
    // A namespace is one object, under both of its names.
    if (slice(path, 0, namespaces.length) === namespaces) {
      const name = slice(path, namespaces.length);
      if (!includes(name, ".")) return (global as Record<string, unknown>)[name];
    }
    return value === undefined ? host.scope(path) : deepFreeze(value);
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
    if (typeof query !== "string")
      return invalid(`the query must be a string, for example await ${surface ? "catalog" : "tools"}.search("send mail")`);
    const limit = limitOf(options);
    if (typeof limit === "string") return invalid(limit);
    return host.search(query, limit, surface, convert);
  }

  const catalog = create(null);
  function handlesOf(descriptions: Description[]): unknown[] {
    const list: unknown[] = [];
    for (let i = 0; i < descriptions.length; i++) push(list, handleOf(descriptions[i]));
    return freeze(list) as unknown[];
  }
  fixed(catalog, "search", (query: unknown, options?: unknown) => search(query, options, 1, handlesOf));
  fixed(catalog, "all", () => handlesOf(host.entries(1)));

  // --- tools ---

  function reference(value: unknown): string | undefined {
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
    const name = reference(id);
    return name === undefined ? needsId("describe") : host.describe(name, 0);
  });
  fixed(tools, "call", (id: unknown, input?: unknown, options?: unknown) => {
    const name = reference(id);
    return name === undefined ? needsId("call") : host.call(name, input, 1, options);
  });
  fixed(tools, "callValue", (id: unknown, input?: unknown, options?: unknown) => {
    const name = reference(id);
    return name === undefined ? needsId("callValue") : host.call(name, input, 0, options);
  });

  // --- output ---

  const text = (value: unknown) => host.text(value);
  const json = (value: unknown) => host.json(value);
  const yield_control = (reason?: unknown) => host.yield(reason === undefined || reason === null ? undefined : StringOf(reason));

  // --- virtual files ---

  const API = create(null);
  fixed(API, "list", async function list(prefix?: unknown) {
    if (prefix !== undefined && prefix !== null && typeof prefix !== "string") return invalid("API.list takes a path prefix as a string");
    const files = host.files((prefix as string) ?? "");
    if (files === undefined) return invalid("API.list found nothing there");
    if (typeof files === "string") return invalid(files);
    const result = create(null);
    result.files = deepFreeze(files);
    return result;
  });
  fixed(API, "read", async function read(path: unknown) {
    if (typeof path !== "string" || trim(path) === "") return invalid("API.read needs the path of a file, as API.list gives it");
    const file = host.file(path);
    if (file === undefined) return invalid("API.read found nothing there");
    if (typeof file === "string") return invalid(file);
    return freeze(file);
  });

  // --- results kept for later cells ---

  const results = create(null);
  fixed(results, "save", (value: unknown) => host.save(value));
  fixed(results, "load", (id: unknown) =>
    typeof id === "string" && id !== "" ? host.load(id) : invalid("results.load needs the id of a saved result"));
  fixed(results, "delete", (id: unknown) =>
    typeof id === "string" && id !== "" ? host.drop(id) : invalid("results.delete needs the id of a saved result"));

  // --- what the Web has and the language does not ---

  const { AbortController, AbortSignal, isSignal, signalOf, listen } = makeAbort(host);
  const { URL, URLSearchParams, urlText } = makeURL(host);
  const { TextEncoder, TextDecoder } = makeCoding(host);
  const classes = { AbortController, AbortSignal, TextDecoder, TextEncoder, URL, URLSearchParams };
  const engineNow = performance.now;
  const functions = {
    text, json, yield_control,
    ...makeTimers(host),
    structuredClone: makeClone(host),
    // The engine has these; they become as fixed as the rest.
    atob, btoa, queueMicrotask,
  };
  const objects = {
    API, catalog, tools, results,
    console: makeConsole(host, text, (value) => (isSignal(value) ? "[AbortSignal]" : urlText(value))),
    crypto: makeCrypto(host),
    performance: makePerformance(engineNow),
  };

  // What a cell puts into Error.prepareStackTrace the engine would call wherever an error is made, also inside of ours;
  // and Error.stackTraceLimit must stay a number, which making an error converts to one.
  const limit = getOwnPropertyDescriptor(Error, "stackTraceLimit")!;
  delete (Error as { prepareStackTrace?: unknown }).prepareStackTrace;
  if (limit.set) {
    const { get, set } = limit;
    defineProperty(Error, "stackTraceLimit", {
      get: () => apply(get!, Error, []),
      set: (value) => {
        if (typeof value === "number") apply(set!, Error, [value]);
      },
      configurable: true,
    });
  }

  // An error's stack begins with its name and message, as models know it; the engine's has frames alone.
  const stack = getOwnPropertyDescriptor(Error.prototype, "stack");
  if (stack && stack.get) {
    const { get, set } = stack;
    defineProperty(Error.prototype, "stack", {
      get(this: Error) {
        const frames = apply(get, this, []);
        if (typeof frames !== "string") return frames;
        const name = this.name === undefined ? "Error" : StringOf(this.name);
        const message = this.message === undefined ? "" : StringOf(this.message);
        return (name && message ? name + ": " + message : name + message) + "\n" + frames;
      },
      set,
      configurable: true,
    });
  }

  // Everything is defined last and at once, so that a name above always means the language's own.
  freeze(catalog);
  freeze(API);
  freeze(results);
  for (const [name, value] of Object.entries({ ...functions, ...classes })) {
    if ((value as Function).prototype) freeze((value as Function).prototype);
    put(value, "name", name, false, true);
    freeze(value);
  }
  for (const [name, value] of Object.entries({ ...objects, ...functions })) fixed(global, name, value);
  for (const [name, value] of Object.entries(classes)) fixed(global, name, value, false);
  return { materialise, signalOf, listen };
}
