import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/** What a process prints that ran this before anything else; flags of V8 are those of a whole process. */
function runIn(source: string): number[] {
  const heap = fileURLToPath(new URL('./heap.ts', import.meta.url));
  const text = `import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { holdHeap } from ${JSON.stringify(heap)};
const mebibytes = (bytes) => Math.round(bytes / 1024 / 1024);
const young = () => mebibytes(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);
async function allocate() {
  let kept = [];
  for (let turns = 0; turns < 100; turns++) {
    for (let index = 0; index < 20_000; index++) kept.push({ index });
    if (kept.length > 200_000) kept = [];
    await turn();
  }
}
${source}`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', text], { encoding: 'utf8' }),
  ) as number[];
}

test('the space of new objects stays within its share of the budget, and grows again after it has shrunk', (t) => {
  const [free = 0, held = 0, small = 0, again = 0] = runIn(`
await allocate();
const free = young();
const { runInNewContext } = await import('node:vm');
const { setFlagsFromString } = await import('node:v8');
setFlagsFromString('--expose-gc');
const shrink = () => runInNewContext('gc')({ type: 'major', execution: 'sync', flavor: 'last-resort' });
shrink();
using heap = holdHeap({ budget: 128 * 1024 * 1024 });
await allocate();
const held = young();
shrink();
await turn();
const small = young();
await allocate();
console.log(JSON.stringify([free, held, small, young()]));`);
  t.true(free > 16, `${String(free)} MiB without a bound`);
  // Once more than the share, because the size is read after a collection.
  t.true(held <= 16, `${String(held)} MiB held`);
  t.true(small < held, `${String(small)} MiB after it has shrunk`);
  t.true(again > small && again <= 16, `${String(again)} MiB again`);
});

test('a process that becomes idle gives back what its heap has grown by', (t) => {
  const [busy = 0, idle = 0] = runIn(`
using heap = holdHeap({ budget: 512 * 1024 * 1024, checkMs: 20 });
const clock = setInterval(() => undefined, 1000);
let all = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
all = undefined;
const busy = mebibytes(process.memoryUsage().heapTotal);
const until = Date.now() + 20_000;
while (mebibytes(process.memoryUsage().heapTotal) > busy / 2 && Date.now() < until)
  await new Promise((resolve) => setTimeout(resolve, 20));
clearInterval(clock);
console.log(JSON.stringify([busy, mebibytes(process.memoryUsage().heapTotal)]));`);
  t.true(busy > 40, `${String(busy)} MiB`);
  t.true(idle <= busy / 2, `${String(idle)} of ${String(busy)} MiB are left`);
});
