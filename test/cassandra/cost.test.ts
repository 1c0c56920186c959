import { readFile } from 'node:fs/promises';
import test from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import type { SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import { createThreads } from '@agent-workflow/threads/threads';
import { link } from '@agent-workflow/protos/wire/link';
import {
  accept,
  assistant,
  bytes,
  call,
  claim,
  commit,
  completed,
  finishedTurn,
  owner,
  user,
} from '../contract/thread-calls.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServer } from '../servers/real-suite.ts';

const readme = new URL('../../services/threads/adapters/cassandra/README.md', import.meta.url);

/** What is measured: on a thread that `prepare` makes, `work` is counted. */
interface Measured<T> {
  readonly name: string;
  readonly prepare: (threads: Threads, threadId: string) => Promise<T>;
  readonly work: (threads: Threads, threadId: string, prepared: T) => Promise<unknown>;
}

const measured = <T>(each: Measured<T>): Measured<unknown> => each as Measured<unknown>;

const nothing = (): Promise<void> => Promise.resolve();
const page = { limit: 50, offset: 0 };
const intent = { claim: { workerId: 'w1' } };

const turn = (threads: Threads, threadId: string): Promise<unknown> =>
  finishedTurn(threads, `first-${threadId}`, { threadId });

async function running(threads: Threads, threadId: string): Promise<number> {
  const { claimed } = await accept(threads, `run-${threadId}`, { threadId, ...intent });
  return claimed?.epoch ?? 0;
}

const commitOf = (threads: Threads, threadId: string, epoch: number, parts = {}): Promise<unknown> =>
  commit(threads, `run-${threadId}`, epoch, {
    threadId,
    fields: { a: bytes('1'), b: bytes('2') },
    messages: [assistant(`m-${threadId}`)],
    ...parts,
  });

const versionOf = async (threads: Threads, threadId: string): Promise<number> =>
  (await threads.getState({ owner, threadId }, call())).version;

const costs: readonly Measured<unknown>[] = [
  measured({
    name: 'accept a run of a new thread, and claim it',
    prepare: nothing,
    work: running,
  }),
  measured({
    name: 'the same with ids that were made for it',
    prepare: nothing,
    work: (threads, threadId) =>
      accept(threads, `run-${threadId}`, { threadId, ...intent, runIdIsNew: true, threadIdIsNew: true }),
  }),
  measured({ name: 'accept a run of an idle thread, and claim it', prepare: turn, work: running }),
  measured({
    name: 'accept a run that has to wait',
    prepare: running,
    work: (threads, threadId) => accept(threads, `next-${threadId}`, { threadId }),
  }),
  measured({
    name: 'claim a run, with the state',
    prepare: (threads, threadId) => accept(threads, `run-${threadId}`, { threadId }),
    work: (threads, threadId) => claim(threads, `run-${threadId}`, { threadId }),
  }),
  measured({
    name: 'claim a run whose state the worker knows',
    prepare: async (threads, threadId) => {
      await turn(threads, threadId);
      await accept(threads, `run-${threadId}`, { threadId });
      return versionOf(threads, threadId);
    },
    work: (threads, threadId, knownVersion) => claim(threads, `run-${threadId}`, { threadId, knownVersion }),
  }),
  measured({ name: 'commit a step', prepare: running, work: commitOf }),
  measured({
    name: 'commit the last step',
    prepare: running,
    work: (threads, threadId, epoch) => commitOf(threads, threadId, epoch, { end: completed }),
  }),
  measured({
    name: 'stop a run',
    prepare: running,
    work: (threads, threadId) => threads.endRun({ owner, runId: `run-${threadId}`, status: 'stopped' }, call()),
  }),
  measured({
    name: 'record that a tool call begins',
    prepare: running,
    work: (threads, threadId, epoch) =>
      threads.noteToolStarted({ owner, threadId, runId: `run-${threadId}`, epoch, step: 0, callKey: 'c' }, call()),
  }),
  measured({
    name: 'write fields',
    prepare: async (threads, threadId) => {
      await turn(threads, threadId);
      return versionOf(threads, threadId);
    },
    work: (threads, threadId, expectedVersion) =>
      threads.writeState({ owner, threadId, expectedVersion, fields: { a: bytes('1') }, messages: [] }, call()),
  }),
  measured({
    name: 'add a message',
    prepare: turn,
    work: (threads, threadId) => threads.addMessages({ owner, threadId, messages: [user('added')] }, call()),
  }),
  measured({
    name: 'delete a message',
    prepare: turn,
    work: (threads, threadId) => threads.deleteMessage({ owner, threadId, messageId: `m-first-${threadId}` }, call()),
  }),
  measured({
    name: 'read a thread',
    prepare: turn,
    work: (threads, threadId) => threads.getThread({ owner, threadId }, call()),
  }),
  measured({
    name: 'read a state for the first time',
    prepare: turn,
    work: (threads, threadId) => threads.getState({ owner, threadId }, call()),
  }),
  measured({
    name: 'read a state again',
    prepare: async (threads, threadId) => {
      await turn(threads, threadId);
      await versionOf(threads, threadId);
    },
    work: (threads, threadId) => threads.getState({ owner, threadId }, call()),
  }),
  measured({
    name: 'read a page of messages',
    prepare: turn,
    work: (threads, threadId) => threads.listMessages({ owner, threadId, ...page }, call()),
  }),
  measured({
    name: 'read a message',
    prepare: turn,
    work: (threads, threadId) => threads.getMessage({ owner, threadId, messageId: `m-first-${threadId}` }, call()),
  }),
  measured({
    name: 'read a run',
    prepare: turn,
    work: (threads, threadId) => threads.getRun({ owner, runId: `first-${threadId}` }, call()),
  }),
  measured({
    name: 'list the runs of a thread',
    prepare: turn,
    work: (threads, threadId) => threads.listRuns({ owner, threadId, ...page }, call()),
  }),
  measured({ name: 'list threads', prepare: turn, work: (threads) => threads.listThreads({ owner, ...page }, call()) }),
  measured({
    name: 'list the newest run of an owner',
    prepare: turn,
    work: (threads) => threads.listOwnRuns({ owner, limit: 1, statuses: [] }, call()),
  }),
  measured({
    name: 'list checkpoints',
    prepare: turn,
    work: (threads, threadId) => threads.listCheckpoints({ owner, threadId, ...page }, call()),
  }),
  measured({
    name: 'fork a thread',
    prepare: async (threads, threadId) => {
      await turn(threads, threadId);
      const { checkpoints } = await threads.listCheckpoints({ owner, threadId, ...page }, call());
      return checkpoints[0]?.checkpointId ?? '';
    },
    work: (threads, threadId, checkpointId) =>
      threads.forkThread({ owner, threadId, checkpointId, newThreadId: `fork-${threadId}` }, call()),
  }),
  measured({
    name: 'delete a thread',
    prepare: turn,
    work: async (threads, threadId) => {
      await threads.beginDelete({ owner, threadId }, call());
      await threads.finishDelete({ owner, threadId }, call());
    },
  }),
  measured({
    name: 'begin and end a request with a key',
    prepare: nothing,
    work: async (threads, threadId) => {
      await threads.beginOnce({ owner, onceKey: threadId, bodyHash: 'h' }, call());
      await threads.endOnce({ owner, onceKey: threadId, replyJson: bytes('{}') }, call());
    },
  }),
  // The last: a list of threads reads what those ask that wait.
  measured({
    name: 'commit the last step, which asks a role',
    prepare: running,
    work: (threads, threadId, epoch) => {
      const interruptsJson = JSON.stringify([{ id: threadId, node: 'n', value: 'Pay?', to: ['manager'] }]);
      const end = { status: 'interrupted' as const, iterations: 1, recursionLimitReached: false, interruptsJson };
      return commitOf(threads, threadId, epoch, { next: ['n'], openInterrupts: [threadId], end });
    },
  }),
];

const kinds: readonly SentStatement['kind'][] = ['read', 'serial read', 'write', 'conditional write'];

withServer(test, cassandra, (server) => {
  test('what each call asks of Cassandra is what the README says', async (t) => {
    await using keyspace = await openKeyspace(await server());
    const asked: SentStatement[] = [];
    await using store = await keyspace.open({ onRequest: (each) => void asked.push(each) });
    const threads = link(createThreads({ store }));
    let made = 0;
    const cost = async ({ prepare, work }: Measured<unknown>): Promise<number[]> => {
      const threadId = `t${String((made += 1))}`;
      const prepared = await prepare(threads, threadId);
      asked.length = 0;
      await work(threads, threadId, prepared);
      return kinds.map((kind) => asked.filter((each) => each.kind === kind).length);
    };
    const rows: string[] = [];
    for (const each of costs) {
      // What is announced once an hour, or once in ten minutes, is not counted.
      const tries = [await cost(each), await cost(each), await cost(each)];
      const least = kinds.map((_, index) => Math.min(...tries.map((counts) => counts[index] ?? 0)));
      rows.push(`| ${each.name} | ${least.map((count) => (count === 0 ? '' : String(count))).join(' | ')} |`);
    }
    t.log(rows.join('\n'));
    const written = (await readFile(readme, 'utf8')).split('\n').map((line) => line.replaceAll(/ +/g, ' '));
    t.deepEqual(
      rows.map((row) => row.replaceAll(/ +/g, ' ')).filter((row) => !written.includes(row)),
      [],
    );
  });
});
