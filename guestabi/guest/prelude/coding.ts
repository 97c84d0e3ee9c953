// TextEncoder and TextDecoder, on the C side's decoders.

import type { Host } from "./host";
import { create, floor, lower, RangeErrorOf, StringOf, trim, TypeErrorOf } from "./primordials";

const enum Flag {
  UTF16 = 1,
  Fatal = 2,
  KeepBOM = 4,
  More = 8,
}

/** The labels of the Encoding Standard for what there is. */
const labels = create(null) as Record<string, string>;
for (const label of ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"]) labels[label] = "utf-8";
for (const label of ["utf-16le", "utf-16", "ucs-2", "unicode", "unicodefeff", "iso-10646-ucs-2", "csunicode"]) labels[label] = "utf-16le";

export function makeCoding(host: Host) {
  class TextEncoder {
    get encoding(): string {
      return "utf-8";
    }
    encode(text?: unknown): Uint8Array {
      return host.encode(text === undefined ? "" : StringOf(text));
    }
    encodeInto(text: unknown, view: Uint8Array): { read: number; written: number } {
      const n = host.encodeInto(StringOf(text), view);
      const read = floor(n / 4294967296);
      return { read, written: n - read * 4294967296 };
    }
  }

  class TextDecoder {
    #encoding: string;
    #flags = 0;
    #carry = 0;

    constructor(label?: unknown, options?: { fatal?: unknown; ignoreBOM?: unknown } | null) {
      const name = label === undefined ? "utf-8" : lower(trim(StringOf(label)));
      const encoding = labels[name];
      if (encoding === undefined) throw new RangeErrorOf(`the encoding ${name} is not known here; utf-8 and utf-16le are`);
      this.#encoding = encoding;
      if (encoding !== "utf-8") this.#flags |= Flag.UTF16;
      if (options?.fatal) this.#flags |= Flag.Fatal;
      if (options?.ignoreBOM) this.#flags |= Flag.KeepBOM;
    }
    get encoding(): string {
      return this.#encoding;
    }
    get fatal(): boolean {
      return (this.#flags & Flag.Fatal) !== 0;
    }
    get ignoreBOM(): boolean {
      return (this.#flags & Flag.KeepBOM) !== 0;
    }
    decode(input?: unknown, options?: { stream?: unknown } | null): string {
      const more = !!options?.stream;
      const carry = this.#carry;
      this.#carry = 0;
      const answer = host.decode(input, more ? this.#flags | Flag.More : this.#flags, carry);
      if (answer === undefined) throw new TypeErrorOf(`the data is not valid ${this.#encoding}`);
      this.#carry = answer[1];
      return answer[0];
    }
  }
  return { TextEncoder, TextDecoder };
}
