// console: plain text for the model, one entry a call, without running code of the cell (no getters, no toString, no
// toJSON), and bounded: a cell that logs a large object must not spend the model's context on it.

import type { Host } from "./host";
import { Kind } from "./kinds";
import {
  apply, create, fixed, freeze, getOwnPropertyDescriptor, getPrototypeOf, isArray, isData, now, ownKeys, push, slice, stringify, StringOf,
} from "./primordials";

const MAX_VALUES = 100; // visited values a call
const MAX_FIELDS = 50; // properties of one object
const MAX_DEPTH = 4;
const MAX_STRING = 512; // UTF-16 units of one string or key
const MAX_MESSAGE = 4096; // UTF-16 units of one entry
const MAX_TOTAL = 16384; // UTF-16 units of all entries of a cell
const CUT = "…[truncated]";

const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const mapNext = getPrototypeOf(new Map().entries()).next;
const setNext = getPrototypeOf(new Set().values()).next;
const isoString = Date.prototype.toISOString;
const getTime = Date.prototype.getTime;
const symbolText = Symbol.prototype.toString;
const regexpSource = getOwnPropertyDescriptor(RegExp.prototype, "source")!.get!;
const domName = getOwnPropertyDescriptor(DOMException.prototype, "name")!.get!;
const domMessage = getOwnPropertyDescriptor(DOMException.prototype, "message")!.get!;
const bufferLength = getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength")!.get!;
const typed = getPrototypeOf(Uint8Array.prototype);
const typedLength = getOwnPropertyDescriptor(typed, "length")!.get!;
const typedName = getOwnPropertyDescriptor(typed, Symbol.toStringTag)!.get!;

const cut = (text: string, most: number): string => (text.length > most ? slice(text, 0, most) + CUT : text);

function own(object: object, name: string): unknown {
  const d = getOwnPropertyDescriptor(object, name);
  return d && isData(d) ? d.value : undefined;
}

class Inspector {
  left = MAX_VALUES;
  path: object[] = [];

  constructor(
    private host: Host,
    private named: (value: object) => string | undefined,
  ) {}

  show(value: unknown, top: boolean): string {
    if (this.left-- <= 0) return "[truncated]";
    switch (typeof value) {
      case "string":
        return top ? cut(value, MAX_MESSAGE) : stringify(cut(value, MAX_STRING));
      case "bigint":
        return cut(StringOf(value) + "n", MAX_STRING);
      case "symbol":
        return cut(apply(symbolText, value, []), MAX_STRING);
      case "function": {
        if (this.host.kind(value) === Kind.Proxy) return "[Proxy]";
        // A catalog handle says what the tool is.
        if (typeof own(value, "callableName") === "string") return this.object(value);
        const name = own(value, "name");
        return typeof name === "string" && name !== "" ? "[Function " + cut(name, MAX_STRING) + "]" : "[Function]";
      }
      case "object":
        return value === null ? "null" : this.object(value);
      default:
        return value === 0 && 1 / value < 0 ? "-0" : StringOf(value);
    }
  }

  private object(value: object): string {
    const { path } = this;
    for (let i = 0; i < path.length; i++) if (path[i] === value) return "[Circular]";
    const kind = this.host.kind(value);
    if (path.length >= MAX_DEPTH) return kind === Kind.Array ? "[Array]" : "[Object]";
    push(path, value);
    try {
      return this.nested(value, kind);
    } catch {
      return "[Unserializable]";
    } finally {
      path.length--;
    }
  }

  private nested(value: object, kind: Kind): string {
    switch (kind) {
      case Kind.Proxy:
        return "[Proxy]"; // its traps are code of the cell
      case Kind.Promise:
        return "[promise that was not awaited]";
      case Kind.Date:
        return apply(getTime, value, []) === apply(getTime, value, []) ? apply(isoString, value, []) : "[Invalid Date]";
      case Kind.RegExp:
        return "/" + cut(apply(regexpSource, value, []), MAX_STRING) + "/";
      case Kind.Map:
        return "Map {" + this.members(apply(mapEntries, value, []), mapNext, true) + "}";
      case Kind.Set:
        return "Set {" + this.members(apply(setValues, value, []), setNext, false) + "}";
      case Kind.Array:
        return this.fields(value, "[", "]");
      case Kind.TypedArray: {
        const length: number = apply(typedLength, value, []);
        let text = apply(typedName, value, []) + " [";
        for (let i = 0; i < length; i++) {
          if (i) text += ",";
          if (i >= MAX_FIELDS) return text + "…]";
          text += this.show((value as number[])[i], false);
        }
        return text + "]";
      }
      case Kind.Buffer:
        return "ArrayBuffer(" + apply(bufferLength, value, []) + ")";
      case Kind.Number:
      case Kind.String:
      case Kind.Boolean:
      case Kind.BigInt:
      case Kind.Symbol:
        return this.show(this.host.unbox(value), false);
      case Kind.DOMException:
        return cut(apply(domName, value, []) + ": " + apply(domMessage, value, []), MAX_STRING);
      case Kind.Error:
        return this.error(value);
      default:
        return this.named(value) ?? this.fields(value, "{", "}");
    }
  }

  /** Name and message, where no getter stands before them, and own fields. */
  private error(value: object): string {
    let name: unknown;
    for (let at: object | null = value, i = 0; at && name === undefined && i < 16; i++, at = getPrototypeOf(at)) {
      if (this.host.kind(at) === Kind.Proxy) break;
      const d = getOwnPropertyDescriptor(at, "name");
      if (d) name = isData(d) ? d.value : "Error";
    }
    const message = own(value, "message");
    let text = typeof name === "string" ? name : "Error";
    if (typeof message === "string" && message !== "") text += ": " + message;
    const fields = this.fields(value, "{", "}", true);
    return cut(text, MAX_STRING) + (fields === "{}" ? "" : " " + fields);
  }

  private members(it: object, next: Function, pairs: boolean): string {
    let text = "";
    for (let i = 0, step; !(step = apply(next, it, [])).done; i++) {
      if (i) text += ", ";
      if (i >= MAX_FIELDS) return text + "…";
      text += pairs ? this.show(step.value[0], false) + " => " + this.show(step.value[1], false) : this.show(step.value, false);
    }
    return text;
  }

  private fields(value: object, open: string, close: string, error = false): string {
    const list = open === "[";
    const names = ownKeys(value);
    let text = open;
    let shown = 0;
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (typeof name !== "string" || (list && name === "length")) continue;
      if (error && (name === "name" || name === "message" || name === "stack")) continue;
      const d = getOwnPropertyDescriptor(value, name);
      if (!d || !d.enumerable) continue;
      if (shown) text += ",";
      if (shown >= MAX_FIELDS) return text + "…" + close;
      shown++;
      if (!list) text += stringify(cut(name, MAX_STRING)) + ":";
      text += isData(d) ? this.show(d.value, false) : "[Accessor]";
    }
    return text + close;
  }
}

export function makeConsole(host: Host, text: (value: unknown) => void, named: (value: object) => string | undefined): object {
  let spent = 0;
  let indent = "";
  const counts = create(null) as Record<string, number>;
  const timers = create(null) as Record<string, number>;

  function write(message: string): void {
    if (spent > MAX_TOTAL) return;
    message = indent + cut(message, MAX_MESSAGE);
    spent += message.length;
    if (spent > MAX_TOTAL) message = "[console output truncated]";
    text(message);
  }

  function format(args: unknown[]): string {
    const inspector = new Inspector(host, named);
    let message = "";
    for (let i = 0; i < args.length && message.length <= MAX_MESSAGE; i++) message += (i ? " " : "") + inspector.show(args[i], true);
    return message;
  }

  const label = (name: unknown): string => (name === undefined ? "default" : cut(new Inspector(host, named).show(name, true), MAX_STRING));

  /** Rows of objects or arrays as tab-separated lines with a heading. */
  function table(rows: unknown): string {
    const kind = host.kind(rows);
    if (typeof rows !== "object" || rows === null || (kind !== Kind.Array && kind !== Kind.Plain)) return format([rows]);
    const columns: string[] = [];
    const known = create(null) as Record<string, boolean>;
    const index = ownKeys(rows);
    const lines: { name: string; row: unknown }[] = [];
    for (let i = 0; i < index.length && lines.length < MAX_FIELDS; i++) {
      const name = index[i];
      const d = typeof name === "string" ? getOwnPropertyDescriptor(rows, name) : undefined;
      if (!d || !d.enumerable || !(isData(d))) continue;
      push(lines, { name: name as string, row: d.value });
      if (typeof d.value !== "object" || d.value === null) continue;
      if (host.kind(d.value) === Kind.Proxy) continue;
      const cells = ownKeys(d.value);
      for (let k = 0; k < cells.length && columns.length < MAX_FIELDS; k++) {
        const cell = cells[k];
        if (typeof cell !== "string" || known[cell] || (isArray(d.value) && cell === "length")) continue;
        known[cell] = true;
        push(columns, cell);
      }
    }
    const inspector = new Inspector(host, named);
    let out = "(index)";
    for (let c = 0; c < columns.length; c++) out += "\t" + cut(columns[c], MAX_STRING);
    for (let i = 0; i < lines.length; i++) {
      const row = lines[i].row;
      out += "\n" + cut(lines[i].name, MAX_STRING);
      if (typeof row !== "object" || row === null || host.kind(row) === Kind.Proxy) {
        out += "\t" + inspector.show(row, false);
        continue;
      }
      for (let c = 0; c < columns.length; c++) {
        const d = getOwnPropertyDescriptor(row, columns[c]);
        out += "\t" + (!d ? "" : isData(d) ? inspector.show(d.value, false) : "[Accessor]");
      }
    }
    return out;
  }

  function writeTimer(key: string, args: unknown[]): void {
    const started = timers[key];
    if (started === undefined) write(`[warn] no timer "${key}"`);
    else write(key + ": " + (now() - started) + " ms" + (args.length ? " " + format(args) : ""));
  }

  const methods: Record<string, (...args: unknown[]) => void> = {
    log: (...args) => write(format(args)),
    info: (...args) => write("[info] " + format(args)),
    warn: (...args) => write("[warn] " + format(args)),
    error: (...args) => write("[error] " + format(args)),
    debug: (...args) => write("[debug] " + format(args)),
    trace: (...args) => write("[trace] " + format(args)),
    dir: (value) => write(format([value])),
    table: (rows) => write(table(rows)),
    assert: (condition, ...args) => {
      if (!condition) write("[assert] " + (args.length ? format(args) : "assertion failed"));
    },
    count: (name) => {
      const key = label(name);
      counts[key] = (counts[key] ?? 0) + 1;
      write(key + ": " + counts[key]);
    },
    countReset: (name) => void delete counts[label(name)],
    time: (name) => void (timers[label(name)] = now()),
    timeLog: (name, ...args) => writeTimer(label(name), args),
    timeEnd: (name) => {
      writeTimer(label(name), []);
      delete timers[label(name)];
    },
    group: (...args) => {
      if (args.length) write(format(args));
      if (indent.length < 40) indent += "  ";
    },
    groupEnd: () => void (indent = slice(indent, 2)),
  };
  methods.groupCollapsed = methods.group;
  const console = create(null);
  const names = ownKeys(methods) as string[];
  for (let i = 0; i < names.length; i++) fixed(console, names[i], freeze(methods[names[i]]));
  return freeze(console);
}
