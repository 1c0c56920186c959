import fc from 'fast-check';
import test from 'ava';
import { finishReasons, type FinishReason, type ModelUsage } from '@agent-workflow/protos/usage';
import { isRunFailure } from './failure.ts';
import { readUsage, sumBounded, sumUsage } from './usage.ts';

const counts = fc
  .dictionary(fc.constantFrom(...finishReasons), fc.integer({ min: 1, max: 9 }), { minKeys: 1 })
  .map((finishReasons) => ({ finishReasons }));
const tokens = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const one: fc.Arbitrary<ModelUsage> = fc.record({
  model: fc.constantFrom('a', 'b', 'B', '__proto__', 'constructor', 'ä', '𝒶'),
  inputTokens: tokens,
  outputTokens: tokens,
});
const withReasons = fc.tuple(one, fc.option(counts, { nil: {} })).map(([usage, reasons]) => ({ ...usage, ...reasons }));
const list = fc.array(withReasons, { maxLength: 8 });

test('however usages are grouped and ordered, their sum is the same', (t) => {
  fc.assert(
    fc.property(list, list, list, (a, b, c) => {
      const whole = sumUsage(a, b, c);
      t.deepEqual(sumUsage(sumUsage(a, b), c), whole);
      t.deepEqual(sumUsage(a, sumUsage(b, c)), whole);
      t.deepEqual(sumUsage(c, b.toReversed(), a), whole);
      t.deepEqual(sumUsage(whole), whole);
    }),
  );
});

test('a sum has each model once, in the order of their names, with the exact number of tokens as far as a number can hold it', (t) => {
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  const exact = (all: readonly ModelUsage[], model: string, of: 'inputTokens' | 'outputTokens'): number => {
    const sum = all.reduce((before, usage) => before + (usage.model === model ? BigInt(usage[of]) : 0n), 0n);
    return Number(sum < most ? sum : most);
  };
  const reasonsIn = (all: readonly ModelUsage[], model: string): object => {
    const sums: Partial<Record<FinishReason, number>> = {};
    for (const { finishReasons: some = {} } of all.filter((usage) => usage.model === model))
      for (const reason of finishReasons) if (some[reason]) sums[reason] = (sums[reason] ?? 0) + some[reason];
    return Object.keys(sums).length === 0 ? {} : { finishReasons: sums };
  };
  fc.assert(
    fc.property(list, (all) => {
      const models = [...new Set(all.map(({ model }) => model))].sort();
      t.deepEqual(
        sumUsage(all),
        models.map((model) => ({
          model,
          inputTokens: exact(all, model, 'inputTokens'),
          outputTokens: exact(all, model, 'outputTokens'),
          ...reasonsIn(all, model),
        })),
      );
    }),
  );
});

test('usage that was read is the same after it was JSON, without members that are none of it', (t) => {
  fc.assert(
    fc.property(one, (usage) => {
      const read = readUsage({ ...usage, type: 'usage' });
      t.deepEqual(read, [usage]);
      t.deepEqual(JSON.parse(JSON.stringify(read)), [usage]);
    }),
  );
});

test('why an answer ended is counted once, and a reason that is none is refused', (t) => {
  t.deepEqual(readUsage({ ...good, finishReason: 'length' }), [{ ...good, finishReasons: { length: 1 } }]);
  t.deepEqual(readUsage({ finishReason: 'length' }), []);
  t.throws(() => readUsage({ ...good, finishReason: 'eos' }), {
    message: /^usage\(\): finishReason must be one of stop, /,
  });
});

const good = { model: 'm', inputTokens: 1, outputTokens: 2 };
const count = /must be a whole number from 0 to 9007199254740991$/;

for (const [what, given, message] of [
  ['is no object', 5, /^usage\(\) takes an object$/],
  ['is null', null, /^usage\(\) takes an object$/],
  ['has no model', { ...good, model: undefined }, /^usage\(\): model must be a text that is not empty$/],
  ['has an empty model', { ...good, model: '' }, /^usage\(\): model must be a text that is not empty$/],
  ['has half a character in its model', { ...good, model: 'm\ud800' }, /^usage\(\): model must be a text of whole/],
  ['has a long model', { ...good, model: 'ä'.repeat(129) }, /^usage\(\): model has 258 bytes, more than 256$/],
  ['has a model that is long as JSON', { ...good, model: '\0'.repeat(43) }, /^usage\(\): model has 258 bytes/],
  ['has no input tokens', { ...good, inputTokens: undefined }, count],
  ['has less than no tokens', { ...good, outputTokens: -1 }, /^usage\(\): outputTokens must be/],
  ['has half a token', { ...good, inputTokens: 0.5 }, /^usage\(\): inputTokens must be/],
  ['has no number of tokens', { ...good, inputTokens: Number.NaN }, count],
  ['has a text of tokens', { ...good, inputTokens: '1' }, count],
  ['has more tokens than a number holds', { ...good, outputTokens: 2 ** 53 }, count],
] as const) {
  test(`usage that ${what} is refused, and the error names the member`, (t) => {
    t.throws(() => readUsage(given), { message });
  });
}

test('the longest name of a model is accepted', (t) => {
  const usage = { ...good, model: 'ä'.repeat(128) };
  t.deepEqual(readUsage(usage), [usage]);
});

test('a sum of 64 models is accepted, and one of more is a failure of the node', (t) => {
  const models = Array.from({ length: 65 }, (_, index) => ({ ...good, model: `m-${String(index)}` }));
  t.is(sumBounded(models.slice(0, 64), models.slice(10, 64)).length, 64);
  const error = t.throws(() => sumBounded(models), { message: 'usage(): the run names more than 64 models' });
  t.true(isRunFailure(error) && error.code === 'NodeFailed');
});
