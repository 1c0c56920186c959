import { readToken } from '@agent-workflow/gateway/auth/jwt';
import { addressOf } from '@agent-workflow/gateway/limits';
import { prefersNdjson } from '@agent-workflow/gateway/replies/ndjson';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { readSelection } from '@agent-workflow/memory/record/filters';
import { queryTermsOf, termsOf } from '@agent-workflow/memory/words/terms';
import { keywordsOf } from '@agent-workflow/memory/words/keywords';
import { parseEscapedKeys } from '@agent-workflow/runtime/json-keys';
import { containing, finding } from '@agent-workflow/threads/lists/contains';
import test from 'ava';
import { isLinear, measure } from './growth.ts';
import { texts } from './texts.ts';

const part = (text: string): string => Buffer.from(text).toString('base64url');

/** What reads text of a caller; whether it refuses it makes no difference. */
const parts: Readonly<Record<string, (text: string) => unknown>> = {
  'a token is taken apart': (text) => readToken(text),
  'the claims of a token are read': (text) => readToken(`${part(`{"a":"${text}`)}.${part(text)}.x`),
  'a JSON text is read': (text) => attempt(() => parseEscapedKeys(`{"\\n":1,"b":[${text}"]}`, JSON.parse)),
  'a JSON text is read whose key is long': (text) =>
    attempt(() => parseEscapedKeys(`{"${text}\\n" :1,${JSON.stringify(text)}:2}`, JSON.parse)),
  'a header of accepted types': prefersNdjson,
  'a header of proxies': (text) => addressOf({ req: { socket: {}, headers: { 'x-forwarded-for': text } } } as never, 2),
  'the terms of a text are made': termsOf,
  'the terms of a query are made': queryTermsOf,
  'a text is embedded': async (text) => hashEmbedder.embed([text], undefined as never),
  'a query is reduced to words that tell': keywordsOf,
  'filters are read': (text) =>
    attempt(() =>
      readSelection({ filtersJson: Buffer.from(JSON.stringify({ [text]: { $in: Array.from(text) } })) }, 0),
    ),
  'a text is searched for as people read it': (text) => finding(text)(`${text.slice(1)}${text}`),
  'a text is searched for itself': (text) => containing(text)(`${text.slice(1)}${text}`),
  'a text is searched for half of itself and another': (text) =>
    containing(`${text.slice(0, text.length / 4)}#${text.slice(0, text.length / 4)}`)(text),
};

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

for (const [name, work] of Object.entries(parts)) {
  test.serial(`${name}: ten times the text takes about ten times as long`, async (t) => {
    for (const [kind, make] of Object.entries(texts)) {
      const small = await measure(work, { short: make(100), long: make(1000) });
      t.true(isLinear(small), `${kind} of 1 KB: ${JSON.stringify(small)}`);
      const large = await measure(work, { short: make(10_000), long: make(100_000) });
      t.true(isLinear(large), `${kind} of 100 KB: ${JSON.stringify(large)}`);
    }
  });
}

test('a memory is compared with many values by looking them up', async (t) => {
  const selected = (count: number) => {
    const values = Array.from({ length: count }, (_, index) => `v${String(index)}`);
    return readSelection({ filtersJson: Buffer.from(JSON.stringify({ kind: { $in: values } })) }, 0);
  };
  const heads = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ metadata: { kind: `w${String(index)}` } }) as never);
  const growth = await measure(({ accepts, memories }) => memories.filter((head) => accepts?.(head)).length, {
    short: { ...selected(100), memories: heads(1000) },
    long: { ...selected(1000), memories: heads(10_000) },
  });
  t.true(isLinear(growth), JSON.stringify(growth));
});
