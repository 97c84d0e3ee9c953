// The JavaScript benchmark: seven kernels of the kinds of work that cells do, each a function that returns a checksum.
// It uses nothing but the language, so that every engine runs the same text.
const kernels = {
  // Plain recursion: calls, comparisons, small integers.
  calls() {
    const ack = (m, n) => (m === 0 ? n + 1 : n === 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)));
    const takeuchi = (x, y, z) => (y >= x ? z : takeuchi(takeuchi(x - 1, y, z), takeuchi(y - 1, z, x), takeuchi(z - 1, x, y)));
    let sum = 0;
    for (let i = 0; i < 4; i++) sum += ack(2, 90) + takeuchi(14, 8, 2);
    return sum;
  },
  // What a tool's answers go through.
  json() {
    const rows = [];
    for (let i = 0; i < 1500; i++) {
      rows.push({ id: i, title: `row number ${i}`, labels: ['red', 'green', 'blue'], price: i * 1.25, owner: { id: i % 17, active: i % 2 === 0, note: null } });
    }
    let sum = 0;
    for (let round = 0; round < 10; round++) {
      const text = JSON.stringify(rows);
      sum += text.length + JSON.parse(text)[round].labels.length;
    }
    return sum;
  },
  // Building, splitting and searching text.
  strings() {
    let text = '';
    for (let i = 0; i < 120000; i++) text += i.toString(36) + ',';
    const words = text.split(',');
    let sum = words.length;
    for (let i = 0; i < 20000; i++) sum += words[i].padStart(8, '.').slice(2, 6).charCodeAt(1);
    return sum + words.join('/').lastIndexOf('zz');
  },
  // Sorting numbers with a comparison, and strings without one.
  sort() {
    let seed = 42;
    const next = () => (seed = (seed * 48271) % 2147483647);
    const numbers = Array.from({ length: 60000 }, next);
    const names = numbers.slice(0, 30000).map((n) => 'n' + n);
    numbers.sort((a, b) => a - b);
    names.sort();
    return numbers[100] + names[100].length;
  },
  // Classes, closures, maps and sets.
  objects() {
    class Point {
      constructor(x, y) { this.x = x; this.y = y; }
      add(other) { return new Point(this.x + other.x, this.y + other.y); }
      get norm() { return Math.abs(this.x) + Math.abs(this.y); }
    }
    let p = new Point(0, 0);
    for (let i = 0; i < 150000; i++) p = p.add(new Point(i & 3, 1));
    const groups = new Map();
    for (let i = 0; i < 80000; i++) {
      const key = 'k' + (i % 3001);
      groups.set(key, (groups.get(key) ?? 0) + i);
    }
    return p.norm + groups.size + new Set([...groups.values()].map((v) => v % 97)).size;
  },
  // Floating point in loops and typed arrays.
  floats() {
    const n = 128, grid = new Float64Array(n * n);
    for (let i = 0; i < grid.length; i++) grid[i] = Math.sin(i) * 10;
    for (let step = 0; step < 16; step++) {
      for (let y = 1; y < n - 1; y++) {
        for (let x = 1; x < n - 1; x++) {
          const at = y * n + x;
          grid[at] = (grid[at] * 4 + grid[at - 1] + grid[at + 1] + grid[at - n] + grid[at + n]) / 8.000001;
        }
      }
    }
    let sum = 0;
    for (const v of grid) sum += Math.sqrt(Math.abs(v));
    return Math.round(sum);
  },
  // Regular expressions over a log.
  regexp() {
    const line = '2026-03-04T05:06:07Z host-12 app[991]: GET /items/48?page=2 200 13ms "agent/1.2 (x; y)"\n';
    const log = line.repeat(120);
    let sum = 0;
    for (let round = 0; round < 8; round++) {
      for (const m of log.matchAll(/(\d{4})-(\d\d)-(\d\d)T[\d:]+Z (\S+) (\w+)\[(\d+)\]: (GET|POST) ([^ ?]+)(?:\?(\S+))? (\d+) (\d+)ms/g)) {
        sum += m[8].length + Number(m[10]);
      }
      sum += log.replace(/"[^"]*"/g, '-').length;
    }
    return sum;
  },
};
