// The pipe between the bench and a peer: one JSON object a line, a greeting first, then one answer for each request. A
// peer times itself, so that the pipe is not measured. See ../README.md.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

export const now = () => Number(process.hrtime.bigint());

/** version reads the version of an installed package. */
export function version(name) {
  const paths = createRequire(import.meta.url).resolve.paths(name);
  for (const path of paths) {
    try {
      return JSON.parse(readFileSync(`${path}/${name}/package.json`, 'utf8')).version;
    } catch {}
  }
  return '';
}

/** each runs f n times and returns the times in nanoseconds. */
export async function each(n, f) {
  const ns = [];
  for (let i = 0; i < n; i++) {
    const start = now();
    await f();
    ns.push(now() - start);
  }
  return { ns };
}

/** expect stops a measurement of something that went wrong. */
export function expect(got, want) {
  if (String(got) !== String(want)) throw new Error(`a cell gave ${got}, not ${want}`);
}

/**
 * serve answers requests until its input ends. operations has a function for each operation, whose text in differs says
 * what it does otherwise than codemode.
 */
export async function serve(greeting, differs, operations) {
  if (process.argv[2] === 'first') {
    const value = await operations.first();
    process.stdout.write(`${value}\n`, () => process.exit(0));
    return;
  }
  const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  write({ ...greeting, version: version(greeting.package ?? greeting.peer), ops: differs });
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    try {
      write(await operations[request.op](request));
    } catch (error) {
      write({ error: String(error?.stack ?? error).slice(0, 500) });
    }
  }
  process.exit(0);
}
