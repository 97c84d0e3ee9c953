// URL and URLSearchParams, on the C side's parser.

import type { Host, Parts } from "./host";
import {
  apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, push, put, StringOf, TypeErrorOf,
} from "./primordials";

const enum Part {
  Protocol,
  Username,
  Password,
  Host,
  Hostname,
  Port,
  Pathname,
  Search,
  Hash,
}

const { toWellFormed, charCodeAt } = String.prototype as unknown as { toWellFormed: Function; charCodeAt: Function };
/** A string without lone surrogates. */
const usv = (value: unknown): string => apply(toWellFormed, StringOf(value), []);
const isEnumerable = Object.prototype.propertyIsEnumerable;
const iterator: typeof Symbol.iterator = Symbol.iterator;
const iterators = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));

export function makeURL(host: Host) {
  let follow!: (params: URLSearchParams, changed: ((query: string) => void) | undefined, query: string) => void;
  let isParams!: (value: unknown) => value is URLSearchParams;
  let isURL!: (value: unknown) => value is URL;

  /** Names and values by turns, read while the list may change. */
  class Pairs {
    #list: () => string[];
    #at = 0;
    #pick: (name: string, value: string) => unknown;
    constructor(list: () => string[], pick: (name: string, value: string) => unknown) {
      this.#list = list;
      this.#pick = pick;
    }
    next(): IteratorResult<unknown> {
      const list = this.#list();
      const at = this.#at;
      if (at >= list.length) return { value: undefined, done: true };
      this.#at = at + 2;
      return { value: this.#pick(list[at], list[at + 1]), done: false };
    }
  }
  Object.setPrototypeOf(Pairs.prototype, iterators);
  delete (Pairs.prototype as { constructor?: unknown }).constructor;

  class URLSearchParams {
    #list: string[] = [];
    #changed: ((query: string) => void) | undefined = undefined;

    static {
      follow = (params, changed, query) => {
        params.#changed = changed;
        params.#list = host.formRead(query);
      };
      isParams = (value): value is URLSearchParams => typeof value === "object" && value !== null && #list in value;
    }

    constructor(init?: unknown) {
      const list = this.#list;
      if (init === undefined || init === null) return;
      if (typeof init !== "object" && typeof init !== "function") {
        const text = usv(init);
        this.#list = host.formRead(text[0] === "?" ? apply(sliceText, text, [1]) : text);
      } else if (isParams(init)) {
        for (let i = 0; i < init.#list.length; i++) push(list, init.#list[i]);
      } else if (typeof (init as Iterable<unknown>)[iterator] === "function") {
        for (const pair of init as Iterable<Iterable<unknown>>) {
          let n = 0;
          for (const part of pair) if (n++ < 2) push(list, usv(part));
          if (n !== 2) throw new TypeErrorOf("URLSearchParams needs pairs of a name and a value");
        }
      } else {
        const names = ownKeys(init);
        for (let i = 0; i < names.length; i++) {
          const name = names[i];
          if (typeof name !== "string" || !apply(isEnumerable, init, [name])) continue;
          push(list, usv(name));
          push(list, usv((init as Record<string, unknown>)[name]));
        }
      }
    }

    #update() {
      if (this.#changed) this.#changed(host.formWrite(this.#list));
    }

    /** Keeps the pairs that `keep` wants. */
    #filter(keep: (name: string, value: string, index: number) => boolean) {
      const kept: string[] = [];
      const list = this.#list;
      for (let i = 0; i < list.length; i += 2)
        if (keep(list[i], list[i + 1], i)) {
          push(kept, list[i]);
          push(kept, list[i + 1]);
        }
      this.#list = kept;
    }

    get size(): number {
      return this.#list.length / 2;
    }
    append(name: unknown, value: unknown): void {
      name = usv(name);
      value = usv(value);
      push(this.#list, name);
      push(this.#list, value);
      this.#update();
    }
    delete(name: unknown, value?: unknown): void {
      const n = usv(name);
      const v = value === undefined ? undefined : usv(value);
      this.#filter((a, b) => a !== n || (v !== undefined && b !== v));
      this.#update();
    }
    get(name: unknown): string | null {
      const n = usv(name);
      const list = this.#list;
      for (let i = 0; i < list.length; i += 2) if (list[i] === n) return list[i + 1];
      return null;
    }
    getAll(name: unknown): string[] {
      const n = usv(name);
      const list = this.#list;
      const found: string[] = [];
      for (let i = 0; i < list.length; i += 2) if (list[i] === n) push(found, list[i + 1]);
      return found;
    }
    has(name: unknown, value?: unknown): boolean {
      const n = usv(name);
      const v = value === undefined ? undefined : usv(value);
      const list = this.#list;
      for (let i = 0; i < list.length; i += 2) if (list[i] === n && (v === undefined || list[i + 1] === v)) return true;
      return false;
    }
    set(name: unknown, value: unknown): void {
      const n = usv(name);
      const v = usv(value);
      const list = this.#list;
      let first = -1;
      for (let i = list.length - 2; i >= 0; i -= 2) if (list[i] === n) first = i;
      if (first < 0) {
        push(list, n);
        push(list, v);
      } else {
        put(list, first + 1, v, true, true);
        this.#filter((a, _, i) => a !== n || i === first);
      }
      this.#update();
    }
    /** By the names' UTF-16 units; pairs of one name keep their order. */
    sort(): void {
      this.#list = sorted(this.#list);
      this.#update();
    }
    forEach(callback: unknown, self?: unknown): void {
      if (typeof callback !== "function") throw new TypeErrorOf("forEach needs a function");
      for (let i = 0; i < this.#list.length; i += 2) apply(callback, self, [this.#list[i + 1], this.#list[i], this]);
    }
    entries(): object {
      return new Pairs(() => this.#list, (name, value) => [name, value]);
    }
    keys(): object {
      return new Pairs(() => this.#list, (name) => name);
    }
    values(): object {
      return new Pairs(() => this.#list, (_, value) => value);
    }
    toString(): string {
      return host.formWrite(this.#list);
    }
  }
  const prototype = URLSearchParams.prototype as unknown as Record<PropertyKey, unknown>;
  put(prototype, Symbol.iterator, prototype.entries, false, true);
  put(prototype, Symbol.toStringTag, "URLSearchParams", false, true);

  class URL {
    #parts!: Parts;
    #params: URLSearchParams | undefined = undefined;

    static {
      isURL = (value): value is URL => typeof value === "object" && value !== null && #parts in value;
    }

    constructor(text: unknown, base?: unknown) {
      if (arguments.length === 0) throw new TypeErrorOf("URL needs its text");
      const parts = host.url(StringOf(text), base === undefined ? undefined : StringOf(base));
      if (typeof parts === "string") throw wrong(text, parts);
      this.#parts = parts;
    }

    /** Takes new parts, and tells the search parameters. */
    #take(parts: Parts) {
      this.#parts = parts;
      if (this.#params) follow(this.#params, this.#changed, this.#query());
    }
    #set(part: Part, value: unknown) {
      this.#take(host.urlWith(this.#parts[0], part, StringOf(value)));
    }
    #query(): string {
      return apply(sliceText, this.#parts[8], [1]);
    }
    // What the parameters call when they change; the URL then follows them, and not they it.
    #changed = (query: string) => {
      this.#parts = host.urlWith(this.#parts[0], Part.Search, query);
    };

    get href(): string {
      return this.#parts[0];
    }
    set href(value: unknown) {
      const parts = host.url(StringOf(value), undefined);
      if (typeof parts === "string") throw wrong(value, parts);
      this.#take(parts);
    }
    get origin(): string {
      return this.#parts[10];
    }
    get protocol(): string {
      return this.#parts[1];
    }
    set protocol(value: unknown) {
      this.#set(Part.Protocol, value);
    }
    get username(): string {
      return this.#parts[2];
    }
    set username(value: unknown) {
      this.#set(Part.Username, value);
    }
    get password(): string {
      return this.#parts[3];
    }
    set password(value: unknown) {
      this.#set(Part.Password, value);
    }
    get host(): string {
      return this.#parts[4];
    }
    set host(value: unknown) {
      this.#set(Part.Host, value);
    }
    get hostname(): string {
      return this.#parts[5];
    }
    set hostname(value: unknown) {
      this.#set(Part.Hostname, value);
    }
    get port(): string {
      return this.#parts[6];
    }
    set port(value: unknown) {
      this.#set(Part.Port, value);
    }
    get pathname(): string {
      return this.#parts[7];
    }
    set pathname(value: unknown) {
      this.#set(Part.Pathname, value);
    }
    get search(): string {
      return this.#parts[8];
    }
    set search(value: unknown) {
      this.#set(Part.Search, value);
    }
    get hash(): string {
      return this.#parts[9];
    }
    set hash(value: unknown) {
      this.#set(Part.Hash, value);
    }
    get searchParams(): URLSearchParams {
      if (!this.#params) {
        this.#params = new URLSearchParams();
        follow(this.#params, this.#changed, this.#query());
      }
      return this.#params;
    }
    toString(): string {
      return this.#parts[0];
    }
    toJSON(): string {
      return this.#parts[0];
    }

    static canParse(text: unknown, base?: unknown): boolean {
      return typeof host.url(StringOf(text), base === undefined ? undefined : StringOf(base)) !== "string";
    }
    static parse(text: unknown, base?: unknown): URL | null {
      try {
        return new URL(text, base);
      } catch {
        return null;
      }
    }
  }
  put(URL.prototype, Symbol.toStringTag, "URL", false, true);

  /** What console shows of a URL or of search parameters. */
  const urlText = (value: unknown): string | undefined =>
    isURL(value) ? apply(hrefOf, value, []) : isParams(value) ? apply(paramsText, value, []) : undefined;
  const hrefOf = getOwnPropertyDescriptor(URL.prototype, "href")!.get!;
  const paramsText = URLSearchParams.prototype.toString;
  return { URL, URLSearchParams, urlText };
}

const sliceText = String.prototype.slice;

function wrong(text: unknown, why: string): Error {
  const shown = StringOf(text);
  const error = new TypeErrorOf(`Invalid URL: ${why}: ${shown.length > 200 ? apply(sliceText, shown, [0, 200]) + "…" : shown}`);
  put(error, "code", "ERR_INVALID_URL", true, true);
  return error;
}

function before(a: string, b: string): boolean {
  const length = a.length < b.length ? a.length : b.length;
  for (let i = 0; i < length; i++) {
    const d = apply(charCodeAt, a, [i]) - apply(charCodeAt, b, [i]);
    if (d !== 0) return d < 0;
  }
  return a.length < b.length;
}

/** A merge sort of pairs, which keeps the order of equal names. */
function sorted(list: string[]): string[] {
  if (list.length <= 2) return list;
  const half: number = 2 * ((list.length / 4) | 0);
  const left: string[] = [];
  const right: string[] = [];
  for (let i = 0; i < list.length; i++) push(i < half ? left : right, list[i]);
  const a = sorted(left);
  const b = sorted(right);
  const out: string[] = [];
  for (let i = 0, k = 0; i < a.length || k < b.length; ) {
    const fromB = i >= a.length || (k < b.length && before(b[k], a[i]));
    const source = fromB ? b : a;
    const at = fromB ? k : i;
    push(out, source[at]);
    push(out, source[at + 1]);
    if (fromB) k += 2;
    else i += 2;
  }
  return out;
}
