import test from 'ava';
import fc from 'fast-check';
import { diff, type Change } from './diff.ts';
import { pathText } from '../path-text.ts';

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

/** Lists that share much of what they hold, as two versions of a state do. */
const versions = fc
  .array(json, { maxLength: 8 })
  .chain((items) => fc.tuple(fc.nat(4), fc.subarray(items), fc.subarray(items), fc.array(json, { maxLength: 3 })))
  .map(
    ([slide, before, after, more]) =>
      [{ items: before }, { items: [...(slide === 0 ? after : before.slice(slide)), ...more] }] as const,
  );

function at(value: unknown, path: Change['path']): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown>)[step], value);
}

/** Applies a diff: what is lost is removed from the end, then the rest comes in its order. */
function applied(before: unknown, changes: readonly Change[]): unknown {
  const holder = { root: structuredClone(before) };
  const lost = changes.filter(({ kind }) => kind === 'removed').toReversed();
  for (const change of [...lost, ...changes.filter(({ kind }) => kind !== 'removed')]) {
    const path = ['root', ...change.path];
    const parent = at(holder, path.slice(0, -1)) as Record<string | number, unknown>;
    const step = path.at(-1) as string | number;
    if (change.kind === 'removed') {
      if (Array.isArray(parent)) parent.splice(step as number, 1);
      else Reflect.deleteProperty(parent, step);
    } else if (change.kind === 'added' && Array.isArray(parent)) parent.splice(step as number, 0, change.after);
    else
      Object.defineProperty(parent, step, {
        ...{ value: change.after, configurable: true, enumerable: true, writable: true },
      });
  }
  return holder.root;
}

test('a diff applied to the one gives the other', (t) => {
  const pairs = fc.oneof(fc.tuple(json, json), versions);
  fc.assert(
    fc.property(pairs, ([before, after]) => {
      t.deepEqual(applied(before, diff(before, after)), after);
    }),
    { numRuns: 500 },
  );
});

test('each change says what was there and what is there now', (t) => {
  fc.assert(
    fc.property(versions, ([before, after]) => {
      for (const change of diff(before, after)) {
        if (change.kind !== 'added') t.deepEqual(at(before, change.path), change.before);
        if (change.kind !== 'removed') t.deepEqual(at(after, change.path), change.after);
      }
    }),
  );
});

test('a value differs in nothing from itself', (t) => {
  fc.assert(fc.property(json, (value) => t.deepEqual(diff(value, structuredClone(value)), [])));
});

test('a message at either end of a list, and a field, are one change each', (t) => {
  const context = ['a', 'b', 'c'].map((text) => ({ text }));
  t.deepEqual(diff({ context }, { context: [...context.slice(1), { text: 'd' }] }), [
    { kind: 'removed', path: ['context', 0], before: { text: 'a' } },
    { kind: 'added', path: ['context', 2], after: { text: 'd' } },
  ]);
  t.deepEqual(diff({ context, turns: 1 }, { context: context.slice(1), turns: 2, name: null }), [
    { kind: 'removed', path: ['context', 0], before: { text: 'a' } },
    { kind: 'changed', path: ['turns'], before: 1, after: 2 },
    { kind: 'added', path: ['name'], after: null },
  ]);
});

test('a path reads as code does', (t) => {
  t.is(pathText(['context', 2, 'content', 'a b', '0']), 'context[2].content["a b"]["0"]');
  t.is(pathText([]), '');
});

/** Runs of few different items, as attackers and counters write them. */
const runs = fc
  .array(fc.tuple(fc.constantFrom(0, 1, 'a', [0]), fc.integer({ min: 1, max: 30 })), { maxLength: 6 })
  .map((parts) => parts.flatMap(([item, count]) => Array<unknown>(count).fill(item)));

test('a diff of lists whose items are alike gives the other list', (t) => {
  fc.assert(fc.property(runs, runs, (before, after) => t.deepEqual(applied(before, diff(before, after)), after)));
});

test('each value is read once, however deep it is and however alike the items of a list are', (t) => {
  let reads = 0;
  const leaf = (value: unknown): object =>
    Object.defineProperty({}, 'field', {
      enumerable: true,
      get: () => {
        reads += 1;
        return value;
      },
    });
  const nested = (depth: number, last: unknown): unknown => {
    let value: unknown = [leaf(last)];
    for (let level = 0; level < depth; level++) value = [Array.from({ length: 10 }, () => leaf(0)), value];
    return value;
  };
  diff(nested(100, 1), nested(100, 2));
  t.true(reads < 2 * 100 * 10 * 3, `${String(reads)} reads of deep values`);
  reads = 0;
  const alike = (first: number): unknown => [leaf(first), ...Array.from({ length: 5000 }, () => leaf(0))];
  t.is(diff(alike(1), alike(2)).length, 1);
  t.true(reads < 2 * 5000 * 3, `${String(reads)} reads of lists`);
});
