import test from 'ava';
import fc from 'fast-check';
import { within } from '@agent-workflow/protos/call';
import { hashEmbedder } from './hash.ts';

const embed = async (...texts: string[]): Promise<Float32Array[]> => hashEmbedder.embed(texts, within(1000));
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
const cosine = async (a: string, b: string): Promise<number> => {
  const [first, second] = await embed(a, b);
  return dot(first ?? new Float32Array(), second ?? new Float32Array());
};

test('any text that is not blank has a vector of length 1', async (t) => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => value.trim() !== '');
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const [vector] = await embed(value);
      t.true(Math.abs(Math.hypot(...(vector ?? [])) - 1) < 1e-5, value);
    }),
  );
});

test('the more words, or parts of words, two texts share, the nearer they are', async (t) => {
  const question = 'what is the colour of her bicycle';
  t.true((await cosine(question, 'her bicycle has a green colour')) > 0.3);
  t.true((await cosine(question, 'bicycles and colours')) > (await cosine(question, 'soup with leek')) + 0.1);
  t.true((await cosine('北京的冬天很冷', '北京很冷')) > (await cosine('北京的冬天很冷', '今晚吃面条')) + 0.2);
});

test('case, width, and composed or decomposed accents make no difference', async (t) => {
  t.deepEqual(await embed('CAFÉ ＡＢＣ'), await embed('cafe\u0301 abc'));
});

test('a text has the same vector in every version, so that a store stays readable', async (t) => {
  const [vector] = await embed('hello world');
  const strongest = [...(vector ?? []).entries()].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 3);
  t.deepEqual(
    strongest.map(([place, value]) => [place, Number(value.toFixed(6))]),
    [
      [108, 0.480015],
      [260, -0.480015],
      [283, -0.288009],
    ],
  );
});
