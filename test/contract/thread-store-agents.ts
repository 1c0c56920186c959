import type { ExecutionContext, TestFn } from 'ava';
import type { AgentRow, Definition, DefinitionKey } from '@agent-workflow/threads/ports/agents';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { TestedStore } from './thread-stores/tested.ts';
import { bytes } from './thread-rows.ts';

const least: AgentRow = { name: 'support', changes: 1, routing: { version: 0, retired: [] }, revisions: [] };

const most: AgentRow = {
  ...{ name: 'billing', description: 'Bills, "ü" 🦊', changes: 1 },
  routing: { version: 7, current: 'b', ramping: { revision: 'c', percent: 12.25 }, retired: ['a'] },
  revisions: [
    { revision: 'a', registeredAt: 1_790_000_000_123, schemaHash: '00', wasRouted: true },
    { revision: 'sha256:b@1', registeredAt: 1_790_000_000_124, schemaHash: '01', wasRouted: false },
  ],
};

const definition: Definition = {
  graphJson: bytes('{"nodes":["ü"]}'),
  fieldsJson: bytes('{}'),
  toolsJson: bytes('[]'),
  nodes: ['look', 'sub/look'],
  codeFields: { reduced: [], checked: [] },
};
const key: DefinitionKey = { agent: 'support', revision: 'a', schemaHash: 'ab' };

let places = 0;

/** What a record of registered agents must promise, whatever keeps it. */
export function threadStoreAgentsContract(test: TestFn, { name, open, openPart, keeps }: TestedStore): void {
  const check = (title: string, body: (t: ExecutionContext, store: ThreadStore) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using store = await openPart();
      await body(t, store);
    });
  };

  check('an agent that was never registered is absent', async (t, store) => {
    t.is(await store.getAgent('support'), undefined);
    t.is(await store.getDefinition(key), undefined);
    t.deepEqual([await store.listAgents(), (await store.listRoutings()).size], [[], 0]);
  });

  check('agents are read as they were written, by name and all together', async (t, store) => {
    for (const row of [least, most]) {
      t.true(await store.putAgent(row));
      t.deepEqual(await store.getAgent(row.name), row);
    }
    t.deepEqual(await store.listAgents(), [most, least]);
    const routings = await store.listRoutings();
    t.deepEqual([routings.size, routings.get('billing'), routings.get('support')], [2, most.routing, least.routing]);
  });

  check('an agent is written only over the change before', async (t, store) => {
    const change = (changes: number, version: number): AgentRow => ({
      ...least,
      ...{ changes, routing: { version, retired: [] } },
    });
    t.false(await store.putAgent(change(2, 1)));
    t.is(await store.getAgent('support'), undefined);
    t.true(await store.putAgent(change(1, 1)));
    t.false(await store.putAgent(change(1, 2)));
    t.false(await store.putAgent(change(3, 3)));
    t.deepEqual(await store.getAgent('support'), change(1, 1));
    t.true(await store.putAgent(change(2, 4)));
    t.deepEqual([...(await store.listRoutings())], [['support', { version: 4, retired: [] }]]);
  });

  check('of many that write the same change of an agent one succeeds', async (t, store) => {
    for (const changes of [1, 2]) {
      const rows = [1, 2, 3, 4, 5].map((version) => ({ ...least, changes, routing: { version, retired: [] } }));
      const written = await Promise.all(rows.map(async (row) => store.putAgent(row)));
      t.is(written.filter(Boolean).length, 1);
      t.deepEqual(await store.getAgent('support'), rows[written.indexOf(true)]);
    }
  });

  check('a definition is found by agent, revision and hash, and goes alone', async (t, store) => {
    const other = { ...key, schemaHash: 'cd' };
    await store.putDefinition(key, definition);
    await store.putDefinition(key, definition);
    t.deepEqual(await store.getDefinition(key), definition);
    t.is(await store.getDefinition(other), undefined);
    t.is(await store.getDefinition({ ...key, revision: 'b' }), undefined);
    t.is(await store.getDefinition({ ...key, agent: 'billing' }), undefined);
    const more = { ...definition, nodes: [], codeFields: { reduced: ['ü'], checked: [] } };
    await store.putDefinition(other, more);
    await store.dropDefinition(key);
    t.is(await store.getDefinition(key), undefined);
    t.deepEqual(await store.getDefinition(other), more);
  });

  if (keeps)
    test(`${name}: agents are there when their store is opened again`, async (t) => {
      const place = `agents-${String((places += 1))}`;
      {
        await using store = await open(place);
        await store.putAgent(most);
        await store.putDefinition(key, definition);
      }
      await using store = await open(place);
      t.deepEqual(await store.getAgent('billing'), most);
      t.deepEqual(await store.getDefinition(key), definition);
    });
}
