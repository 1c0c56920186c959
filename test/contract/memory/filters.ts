import type { TestFn } from 'ava';
import { retrievalStrategies } from '@agent-workflow/protos/lists';
import { call, owner } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';

/** Filters over what is stored with a memory. */
export function filterTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory('filters match as written', async (t, _, { store, find }) => {
    await store('a', { metadata: { n: 1, s: 'x', tags: ['p', 'q'], ok: true }, threadId: 't1' });
    await store('b', { metadata: { n: 2, s: 'y', none: null } });
    await store('c', { metadata: { n: '2', deep: { k: [1] } }, category: 'other' });
    const cases: readonly [filters: unknown, found: string][] = [
      [{}, 'abc'],
      [{ n: 2 }, 'b'],
      [{ n: '2' }, 'c'],
      [{ ok: true }, 'a'],
      [{ s: null }, ''],
      [{ none: null }, 'b'],
      [{ none: { $in: [null] } }, 'b'],
      [{ tags: ['p', 'q'] }, 'a'],
      [{ deep: { k: [1] } }, 'c'],
      [{ n: { $gt: 1 } }, 'b'],
      [{ n: { $gte: 1, $lt: 2 } }, 'a'],
      [{ n: { $lte: 2 } }, 'ab'],
      [{ s: { $gt: 'x' } }, 'b'],
      [{ n: { $ne: 2 } }, 'ac'],
      [{ none: { $ne: null } }, 'ac'],
      [{ n: { $in: [1, '2'] } }, 'ac'],
      [{ n: { $in: [] } }, ''],
      [{ thread_id: 't1' }, 'a'],
      [{ category: { $in: ['other'] } }, 'c'],
      [{ memory_type: { $ne: 'semantic' } }, ''],
      [{ constructor: null }, ''],
      [{ __proto__: null, hasOwnProperty: { $ne: 1 } }, 'abc'],
      [JSON.parse('{"__proto__": {"x": 1}}'), ''],
      [{ n: 2, s: 'x' }, ''],
    ];
    for (const [filters, expected] of cases) {
      for (const retrievalStrategy of retrievalStrategies.slice(0, 4)) {
        const found = (await find('a b c', { filters, retrievalStrategy })).sort().join('');
        t.is(found, expected, `${JSON.stringify(filters)} ${retrievalStrategy}`);
      }
    }
  });

  withMemory('what filters name and ask for is never more than a text', async (t, memory, { store, find }) => {
    const texts = [
      '"}) { x } } }',
      'a" OR "1"="1',
      '\\',
      '*',
      'any',
      '$gt2',
      'path: ["owner"]',
      '\u0000',
      'a\nb',
      '__proto__x',
      '🧠',
      ' ',
      '',
    ];
    for (const [place, text] of texts.entries()) await store(`note ${String(place)}`, { metadata: { [text]: text } });
    await store('plain', { metadata: { other: 1 } });
    await store('hers', { owner: 'u:bob', metadata: { [texts[0] ?? '']: texts[0] } });
    for (const [place, text] of texts.entries()) {
      if (text.startsWith('$')) continue;
      t.deepEqual(await find('note', { filters: { [text]: text } }), [`note ${String(place)}`], JSON.stringify(text));
      t.deepEqual(await find('note', { filters: { [text]: { $in: [text] } } }), [`note ${String(place)}`]);
      t.deepEqual(await find('note', { filters: { other: text } }), []);
      t.deepEqual(await find('note', { category: text, filters: { owner: 'u:bob' } }), []);
    }
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, texts.length + 1);
  });

  withMemory('a memory with very many fields is found by each of them', async (t, _, { store, find }) => {
    await store('few', { metadata: { f7: 7, f8: 7 } });
    await store('many', {
      metadata: Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`f${String(n)}`, n])),
    });
    t.deepEqual((await find('x', { filters: { f7: 7 } })).sort(), ['few', 'many']);
    t.deepEqual(await find('x', { filters: { f8: 7 } }), ['few']);
    t.deepEqual(await find('x', { filters: { f399: 399 } }), ['many']);
  });
}
