// The native functions of the C side. No cell ever sees this object.

import type { Kind } from "./kinds";

export type Shape = 0 | 1; // value, envelope
export type Binding = 0 | 1 | 2; // reference, callable, path

/** What the host says of a callable tool. */
export interface Description {
  callableName: string;
  [field: string]: unknown;
}

export const enum Timer {
  Once = 0,
  Repeats = 1,
  Idle = 2, // does not keep a cell alive that has ended
}

/** [href, protocol, username, password, host, hostname, port, pathname, search, hash, origin] */
export type Parts = string[];

export interface Host {
  /** The handle at a path; it keeps the description. */
  handle(path: string, name: string, binding: Binding, description: Description): unknown;
  call(reference: string, input: unknown, shape: Shape, options?: unknown): Promise<unknown>;
  /** `convert` makes the promise's value of the host's answer. */
  search(query: string, limit: number, surface: 0 | 1, convert?: (hits: Description[]) => unknown): Promise<unknown[]>;
  describe(name: string, binding: Binding): Promise<unknown>;
  yield(reason?: string): Promise<unknown>;
  timer(milliseconds: number, callback: () => void, flags: Timer): number;
  clear(handle: number): void;
  text(value: unknown): void;
  json(value: unknown): void;
  entries(listing: 0 | 1): Description[];
  files(prefix: string): unknown[] | string | undefined; // a string says what is wrong
  file(path: string): { path: string; content: string } | string | undefined; // a string says what is wrong
  save(value: unknown): Promise<unknown>;
  load(id: string): Promise<unknown>;
  drop(id: string): Promise<unknown>;
  scope(path: string): object;

  kind(value: unknown): Kind;
  unbox(object: unknown): unknown;

  entropy(view: ArrayBufferView): void;
  uuid(): string;

  encode(text: string): Uint8Array;
  /** Bytes written, and 2^32 times the UTF-16 units read. */
  encodeInto(text: string, view: Uint8Array): number;
  /** The text, and what to remember for the next chunk; undefined where a fatal decoder must throw. */
  decode(input: unknown, flags: number, carry: number): [string, number] | undefined;

  /** The parts, or why the text is no URL. */
  url(text: string, base: string | undefined): Parts | string;
  urlWith(href: string, part: number, text: string): Parts;
  formRead(text: string): string[];
  formWrite(pairs: string[]): string;
}
