import test from 'ava';
import { unavailable } from '@agent-workflow/kit/errors';
import type { RegisteredAgent, RevisionDefinition } from '@agent-workflow/protos/threads';
import { createRegisteredAgents } from './registered-agents.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const definition: RevisionDefinition = {
  graphJson: json({ nodes: [] }),
  fieldsJson: json({ title: { type: 'string' }, context: { type: 'array' }, context_summary: { type: 'string' } }),
  toolsJson: json([]),
  nodes: [],
  codeFields: { reduced: [], checked: [] },
};

const agentWith = (current: string, percent = 0): RegisteredAgent => ({
  agent: 'support',
  routing: { version: 1, current, ...(percent > 0 && { ramping: { revision: 'b', percent } }) },
  revisions: ['a', 'b'].map((revision) => ({
    ...{ revision, registeredAt: 0, schemaHash: revision, percent: 0 },
    state: 'registered',
  })),
});

/** A registry that counts how often it is read, and a clock. */
function counted(title = '', parts: Partial<RevisionDefinition> = {}) {
  const seen = {
    lines: [] as object[],
    lists: 0,
    revisions: [] as (string | undefined)[],
    now: 0,
    isAway: false,
    agents: [agentWith('a')],
  };
  const known = createRegisteredAgents({
    threads: {
      listRegisteredAgents: () => {
        seen.lists += 1;
        return seen.isAway ? Promise.reject(unavailable('away')) : Promise.resolve({ agents: seen.agents });
      },
      getRevision: ({ revision }) => {
        seen.revisions.push(revision);
        return Promise.resolve({ ...definition, graphJson: json({ nodes: [], title }), ...parts });
      },
    },
    defaultName: 'support',
    log: { error: (line: object) => void seen.lines.push(line) },
    elapsed: () => seen.now,
  });
  return { seen, known };
}

test('agents are read once in two seconds, together, and each revision once', async (t) => {
  const { seen, known } = counted();
  for (const now of [0, 1, 1999]) {
    seen.now = now;
    const both = await Promise.all([known.find('support'), known.find(undefined), known.find('other')]);
    t.deepEqual(
      both.map((shape) => shape?.checkedRevision),
      ['a', 'a', undefined],
    );
  }
  t.deepEqual([seen.lists, seen.revisions], [1, ['a']]);
  seen.now = 2000;
  seen.agents = [agentWith('b')];
  t.is((await known.find('support'))?.checkedRevision, 'b');
  t.deepEqual([seen.lists, seen.revisions], [2, ['a', 'b']]);
});

const fieldSchemas: readonly (readonly [title: string, schema: unknown, isLeft: boolean])[] = [
  ['no schema', undefined, false],
  ['a usual schema', { type: 'string', minLength: 2 }, false],
  ['a pattern', { type: 'string', pattern: '^(a+)+$' }, true],
  ['a pattern inside', { type: 'array', items: { type: 'string', pattern: '^(a+)+$' } }, true],
  ['patterns of names', { type: 'object', patternProperties: { '^(a+)+$': {} } }, true],
  ['a reference', { $ref: '#' }, true],
  ['unique items', { type: 'array', uniqueItems: true }, true],
  ['many alternatives', { enum: Array.from({ length: 2000 }, (_, index) => index) }, true],
  ['no known type', { type: 'emperor' }, true],
  ['no schema at all', 42, true],
];

for (const [title, schema, isLeft] of fieldSchemas) {
  test(`a registered field with ${title} is ${isLeft ? 'left to its workers' : 'checked where it comes in'}`, async (t) => {
    const { known } = counted('', {
      fieldsJson: json({ title: { type: 'any', schema } }),
      codeFields: { reduced: [], checked: [] },
    });
    const shape = await known.find('support');
    t.deepEqual(shape?.elsewhere.checked, new Set(isLeft ? ['title'] : []));
    t.deepEqual(shape?.fields['title']?.schema, isLeft ? undefined : schema);
  });
}

test('a revision that is not known yet is looked for at once; one that is gone is shown as the newest', async (t) => {
  const { seen, known } = counted();
  await known.find('support', { revision: 'b' });
  t.is(seen.lists, 1);
  t.like(await known.find('support', { revision: 'c' }), { checkedRevision: 'c', name: 'support' });
  t.deepEqual([seen.lists, seen.revisions], [2, ['b']]);
});

test('a thread in the share of a ramping revision is checked by that one', async (t) => {
  const { seen, known } = counted();
  seen.agents = [agentWith('a', 100)];
  t.is((await known.find('support', { thread: { owner: 'u:ada', threadId: 't1' } }))?.checkedRevision, 'b');
  t.is((await known.find('support'))?.checkedRevision, 'a');
});

test('a registry that is unavailable is no answer, and is asked again by the next request', async (t) => {
  const { seen, known } = counted();
  seen.isAway = true;
  await t.throwsAsync(known.find('support'), { code: 'Unavailable' });
  seen.isAway = false;
  t.truthy(await known.find('support'));
});

test('what is kept of revisions has a bound in bytes', async (t) => {
  const { seen, known } = counted('x'.repeat(9 * 1024 * 1024));
  for (const revision of ['a', 'b', 'a']) await known.find('support', { revision });
  t.deepEqual(seen.revisions, ['a', 'b', 'a']);
});

test('an agent whose definition cannot be read is left out of the list, and the log names it once in ten minutes', async (t) => {
  const { seen, known } = counted(undefined, { toolsJson: Buffer.from('{') });
  for (const now of [0, 3000, 599_999]) {
    seen.now = now;
    t.deepEqual(await known.list(), []);
  }
  t.is(seen.lines.length, 1);
  t.like(seen.lines[0], { agent: 'support' });
  seen.now = 600_000;
  await known.list();
  t.is(seen.lines.length, 2);
});

test('a request to an agent whose definition cannot be read is Unavailable and names the revision, and the log has one line in ten minutes', async (t) => {
  const { seen, known } = counted(undefined, { graphJson: json({ nodes: 5 }) });
  for (let request = 0; request < 3; request++)
    await t.throwsAsync(known.find('support'), {
      code: 'Unavailable',
      message:
        'the registered definition of agent "support" at revision "a" cannot be read: register the agent at another revision',
    });
  t.is(seen.lines.length, 1);
  t.like(seen.lines[0], { agent: 'support', revision: 'a' });
});
