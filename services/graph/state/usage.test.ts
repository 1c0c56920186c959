import fc from 'fast-check';
import test from 'ava';
import type { ModelUsage } from '@agent-workflow/protos/usage';
import { isRunFailure } from './failure.ts';
import { readUsage, sumBounded, sumUsage } from './usage.ts';

const tokens = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const one: fc.Arbitrary<ModelUsage> = fc.record({
  model: fc.constantFrom('a', 'b', 'B', '__proto__', 'constructor', 'ä', '𝒶'),
  inputTokens: tokens,
  outputTokens: tokens,
});
const list = fc.array(one, { maxLength: 8 });

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
  fc.assert(
    fc.property(list, (all) => {
      const models = [...new Set(all.map(({ model }) => model))].sort();
      t.deepEqual(
        sumUsage(all),
        models.map((model) => ({
          model,
          inputTokens: exact(all, model, 'inputTokens'),
          outputTokens: exact(all, model, 'outputTokens'),
        })),
      );
    }),
  );
});

test('usage that was read is the same after it was JSON, without members that are none of it', (t) => {
  fc.assert(
    fc.property(one, (usage) => {
      const read = readUsage({ ...usage, type: 'usage' });
      t.deepEqual(read, usage);
      t.deepEqual(JSON.parse(JSON.stringify(read)), usage);
    }),
  );
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
  t.deepEqual(readUsage(usage), usage);
});

test('a sum of 64 models is accepted, and one of more is a failure of the node', (t) => {
  const models = Array.from({ length: 65 }, (_, index) => ({ ...good, model: `m-${String(index)}` }));
  t.is(sumBounded(models.slice(0, 64), models.slice(10, 64)).length, 64);
  const error = t.throws(() => sumBounded(models), { message: 'usage(): the run names more than 64 models' });
  t.true(isRunFailure(error) && error.code === 'NodeFailed');
});
