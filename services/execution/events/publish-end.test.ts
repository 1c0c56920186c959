import test from 'ava';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Run } from '@agent-workflow/protos/threads';
import { openSqliteRunLog } from '../adapters/sqlite/run-log.ts';
import type { RunLog } from '../ports/log.ts';
import { unreadableDefinition } from '../record/known-agents.ts';
import { publishEnd, type EndParts } from './publish-end.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const end = { status: 'completed', iterations: 1, recursionLimitReached: false } as const;
const run: Run = {
  ...{ runId: 'r1', threadId: 't1', owner: 'u:ada', requestId: 'q1', status: 'completed', granularity: 'full' },
  ...{
    createdAt: 1,
    updatedAt: 2,
    isNewThread: true,
    runnable: false,
    agent: 'support',
    revision: 'a',
    end,
    nodes: [],
  },
};
const state = { version: 1, fields: { title: json('kept') }, contextJson: json([]) };

/** A record with this run alone. */
const record = (parts: Partial<EndParts['threads']> = {}): EndParts['threads'] =>
  ({
    listRunMessages: () => Promise.resolve({ messagesJson: json([]) }),
    listRunSteps: () => Promise.resolve({ steps: [] }),
    listCheckpoints: () => Promise.resolve({ checkpoints: [] }),
    getState: () => Promise.resolve(state),
    ...parts,
  }) as Partial<EndParts['threads']> as EndParts['threads'];

const find = (error?: Error): EndParts['known'] => ({
  find: () => (error ? Promise.reject(error) : Promise.resolve({ fields: { title: { type: 'string' } } } as never)),
});

/** The kinds of the events of the log, and the data of the last one. */
async function published(eventLog: RunLog): Promise<{ readonly kinds: readonly string[]; readonly last: unknown }> {
  const all: RunEvent[] = [];
  for await (const { events } of eventLog.follow(run.runId, 0, AbortSignal.timeout(10_000))) all.push(...events);
  const data = Buffer.from(all.at(-1)?.data ?? []).toString();
  return { kinds: all.map(({ kind }) => kind), last: JSON.parse(data) };
}

const whole = ['metadata', 'on_chain_start', 'on_chain_end'];

test('the end of a run has the state that it left', async (t) => {
  await using eventLog = openSqliteRunLog({ path: ':memory:' });
  await publishEnd({ eventLog, threads: record(), known: find() }, run);
  const { kinds, last } = await published(eventLog);
  t.deepEqual(kinds, whole);
  t.like(last, { state: { title: 'kept' }, meta: { status: 'completed' } });
});

const unreadable: readonly (readonly [what: string, parts: Partial<EndParts>])[] = [
  ['a registered definition that no reader can use', { known: find(unreadableDefinition('support', 'a')) }],
  ['a revision that is gone', { known: find(new ServiceError('NotFound', 'no such revision')) }],
  ['a registry that fails', { known: find(new ServiceError('Internal', 'something went wrong on our side')) }],
  [
    'a state that is no JSON',
    { threads: record({ getState: () => Promise.resolve({ ...state, fields: { title: Buffer.from('{{') } }) }) },
  ],
  [
    'a context that is no list of messages',
    { threads: record({ getState: () => Promise.resolve({ ...state, contextJson: json([null]) }) }) },
  ],
  [
    'a message without content',
    { threads: record({ listRunMessages: () => Promise.resolve({ messagesJson: json([{ message_id: 'm1' }]) }) }) },
  ],
  [
    'messages that are none',
    { threads: record({ listRunMessages: () => Promise.resolve({ messagesJson: json([null]) }) }) },
  ],
];

for (const [what, parts] of unreadable) {
  test(`the end of a run is published without what cannot be read: ${what}`, async (t) => {
    await using eventLog = openSqliteRunLog({ path: ':memory:' });
    const interrupted = { ...run, status: 'interrupted', end: { ...end, status: 'interrupted' } } as const;
    await publishEnd({ eventLog, threads: record(), known: find(), ...parts }, interrupted);
    const { kinds, last } = await published(eventLog);
    t.deepEqual(kinds, whole);
    t.like(last, { meta: { run_id: 'r1', status: 'interrupted' } });
  });
}

test('the end of a run whose time of writing and questions cannot be shown is published', async (t) => {
  await using eventLog = openSqliteRunLog({ path: ':memory:' });
  const odd = { ...run, updatedAt: 9e15, end: { ...end, interruptsJson: 'null' } };
  await publishEnd({ eventLog, threads: record(), known: find() }, odd);
  t.like((await published(eventLog)).last, { meta: { run_id: 'r1', status: 'completed' } });
});

test('while the registry or the record is unavailable, the end waits for it', async (t) => {
  await using eventLog = openSqliteRunLog({ path: ':memory:' });
  const away = unavailable('the threads service is unavailable');
  const threads = record({ getState: () => Promise.reject(away) });
  await t.throwsAsync(publishEnd({ eventLog, threads: record(), known: find(away) }, run), { code: 'Unavailable' });
  await t.throwsAsync(publishEnd({ eventLog, threads, known: find() }, run), { code: 'Unavailable' });
  t.false(await eventLog.isEnded(run.runId));
  await publishEnd({ eventLog, threads: record(), known: find() }, run);
  t.like((await published(eventLog)).last, { state: { title: 'kept' } });
});
