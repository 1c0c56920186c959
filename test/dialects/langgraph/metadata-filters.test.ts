import test from 'ava';
import { graphId, refused, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const client = () => service.client();

const kept = { of: 'filters', plan: { name: 'pro', seats: 5 }, tags: ['a', 'b', { kind: 'x', n: 1 }] };
const daily = { schedule: '0 9 * * *', input: { messages: [{ role: 'user', content: 'daily' }] } };

const matching = [
  { plan: { name: 'pro' } },
  { plan: {} },
  { tags: ['b'] },
  { tags: ['b', 'a'] },
  { tags: [{ kind: 'x' }] },
  { plan: { seats: 5 }, tags: [] },
];
const others = [
  { plan: { name: 'free' } },
  { plan: { name: 'pro', trial: true } },
  { plan: 'pro' },
  { tags: 'a' },
  { tags: ['c'] },
  { tags: [{ kind: 'x', n: 2 }] },
  { other: null },
];

test('metadata that is searched for is contained, at any depth, wherever something is found by it', async (t) => {
  const { thread_id: id } = await client().threads.create({ graphId, metadata: kept });
  const { assistant_id: assistantId } = await client().assistants.create({ graphId, metadata: kept });
  await client().crons.create(graphId, { ...daily, metadata: kept });
  await client().threads.updateState(id, { values: { count: 1 } });
  const counts = async (part: object): Promise<unknown[]> => {
    const metadata = { of: 'filters', ...part } as never;
    return [
      (await client().threads.search({ metadata })).length,
      await client().threads.count({ metadata }),
      (await client().assistants.search({ metadata })).length,
      await client().assistants.count({ metadata }),
      (await client().assistants.getVersions(assistantId, { metadata })).length,
      await client().crons.count({ metadata }),
      (await client().threads.getHistory(id, { metadata })).length,
    ];
  };
  for (const part of matching) t.deepEqual(await counts(part), [1, 1, 1, 1, 1, 1, 1], JSON.stringify(part));
  for (const part of others) t.deepEqual(await counts(part), [0, 0, 0, 0, 0, 0, 0], JSON.stringify(part));
});

test('a filter that would take long to compare is refused', async (t) => {
  const metadata = { tags: Array.from({ length: 101 }, (_, n) => ({ n })) } as never;
  const text = 'body.metadata: must have at most 100 objects and lists as items of lists';
  t.is(await refused(t, client().threads.search({ metadata }), 422), text);
  t.is(await refused(t, client().assistants.count({ metadata }), 422), text);
});
