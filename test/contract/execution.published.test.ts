import test, { type ExecutionContext } from 'ava';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { END, field, START, StateGraph, textOf, type CompiledGraph } from '@agent-workflow/graph';
import { isTerminal, type RunLog } from '@agent-workflow/execution/ports/log';
import { stale } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { granularities, type Granularity } from '@agent-workflow/protos/lists';
import { graph as boulders } from '../agents/boulders.ts';
import { generousMs, longestBlockMs } from '../longest-block.ts';
import { areWhole } from '../numbers.ts';
import { until } from '../until.ts';
import { chunkText } from '../events.ts';
import { call, followAll, owner, start } from './execution/calls.ts';
import { toChunk, type Chunk } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas, withoutTaking, type Ground, type Replica, type ReplicaOptions } from './replicas.ts';
import { byLoad } from '../by-load.ts';

const turns = field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more });

/** Everything that a step can do: pieces, blocks, whole messages, one that replaces, several nodes, removal, a summary. */
const everything = new StateGraph({
  zeal: field<string>({ type: 'string' }),
  apple: field<string>({ type: 'string' }),
  turns,
})
  .addNode('draft', (_state, ctx) => {
    for (const chunk of ['Gre', 'en "', 'tea"\n']) ctx.emit(chunk);
    ctx.emit({ type: 'reasoning', text: 'why not' });
    return { zeal: 'z', apple: 'a', turns: 1, messages: [{ message_id: `note ${ctx.runId}`, content: 'a note' }] };
  })
  .addNode('left', (_state, ctx) => {
    ctx.emit('on the left');
    return { turns: 1 };
  })
  .addNode('right', (_state, { runId }) => ({
    turns: 1,
    messages: [
      { message_id: `new ${runId}`, content: 'before the note' },
      { message_id: `note ${runId}`, content: 'another note' },
      { message_id: `new ${runId}`, content: 'said again' },
    ],
  }))
  .addNode('sum', (state) => ({
    context_summary: 'in short',
    removed_from_context: state.context
      .slice(1, 3)
      .map(({ message_id: id }) => id)
      .toReversed(),
    messages: [
      {
        content: [
          { type: 'text', text: 'done' },
          { type: 'data', data: { n: 1 } },
        ],
      },
    ],
  }))
  .addEdge(START, 'draft')
  .addEdge('draft', 'left')
  .addEdge('draft', 'right')
  .addEdge(['left', 'right'], 'sum')
  .addEdge('sum', END)
  .compile();

/** Commits one step, and fails in the next. */
const failing = new StateGraph({ turns })
  .addNode('first', (_state, ctx) => {
    ctx.emit('kept');
    return { turns: 1 };
  })
  .addNode('second', (_state, ctx) => {
    ctx.emit('lost');
    throw new Error('no tea left');
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .compile();

/** Fails in its first step: what came with the request is kept, and told by nobody. */
const failingAtOnce = new StateGraph({ turns })
  .addNode('only', () => {
    throw new Error('no tea at all');
  })
  .addEdge(START, 'only')
  .compile();

const isPartOfText = ({ event, message }: Chunk): boolean => event === 'messages_chunk' && !message;
const statusOf = ({ event, data }: Chunk): unknown =>
  event === 'on_chain_stream' ? (data as { status: string }).status : undefined;

/** What is derived from the record alone: the same bytes, whoever says it. */
const isDerived = (chunk: Chunk): boolean =>
  !isPartOfText(chunk) &&
  chunk.event !== 'metadata' &&
  chunk.event !== 'on_chain_start' &&
  statusOf(chunk) !== 'started' &&
  statusOf(chunk) !== 'restarted';

const textsOf = (events: readonly RunEvent[]): string[] => events.map((event) => chunkText(event));

/** Which events a step begins with, and that the text of each whole message is what its pieces say. */
function holdsShape(t: ExecutionContext, events: readonly RunEvent[], what: string): void {
  t.true(areWhole(events.map(({ seq }) => seq)), what);
  const chunks = events.map(toChunk);
  t.deepEqual(
    chunks.map(({ event }) => event).filter((event) => ['metadata', 'on_chain_start'].includes(event)),
    ['metadata', 'on_chain_start'],
    what,
  );
  const begun = new Set<string>();
  for (const chunk of chunks) {
    const { node, step, status } = chunk.data as { node?: string; step?: number; status?: string };
    const key = `${String(node)} ${String(step)}`;
    if (status === 'started' || status === 'restarted') begun.add(key);
    if (status === 'completed') t.true(begun.has(key), what);
    if (!chunk.message) continue;
    const { message_id: id } = chunk.message;
    const before = chunks.slice(0, chunks.indexOf(chunk));
    // A message that is told again, because it was replaced, begins anew after the last time.
    const since = before.findLastIndex(({ message }) => message?.message_id === id) + 1;
    const parts = before.slice(since).filter(({ metadata }) => metadata.message_id === id);
    t.is(parts.map(({ data }) => (typeof data === 'string' ? data : '')).join(''), textOf(chunk.message), what);
    t.deepEqual(
      parts.map(({ data }) => data).filter((data) => typeof data !== 'string'),
      chunk.message.content.filter(({ type }) => type !== 'text'),
      what,
    );
  }
}

interface Scene {
  readonly graph: CompiledGraph;
  readonly granularity: Granularity;
  /** The worker dies when it has committed so many steps. */
  readonly commits: number;
  /** Whoever goes on with it finds no step on record: the thread has come so much further. */
  readonly areStepsForgotten?: boolean;
}

const forgetSteps = ({ threads }: Ground): Partial<Ground> => ({
  threads: { ...threads, listRunSteps: async () => Promise.resolve({ steps: [] }) },
});

/** Runs a worker to its death, with a log that keeps `kept` of its events; gives what it would have said, and what another made of it. */
async function publishAfterDeath(
  { graph, granularity, commits, areStepsForgotten = false }: Scene,
  kept: number,
): Promise<{ readonly ofDead: readonly RunEvent[]; readonly ofNext: readonly RunEvent[] }> {
  await using replicas = await openReplicas();
  const ofDead: RunEvent[] = [];
  const committed = Promise.withResolvers<undefined>();
  let left = commits;
  const through = (ground: Ground): Partial<Ground> => ({
    threads: {
      ...ground.threads,
      // A dead worker goes no further than its last commit: it says what it has to say of it, and no answer comes after that.
      commitStep: async (request, at) => {
        if (left === 0) return new Promise(() => undefined);
        left--;
        return ground.threads.commitStep(request, at);
      },
    },
    eventLog: {
      ...ground.eventLog,
      append: async (scope, after, events) => {
        ofDead.push(...events);
        const stored = events.filter(({ seq }) => seq <= kept);
        if (stored.length > 0) await ground.eventLog.append(scope, after, stored);
        if (isOver(ofDead)) committed.resolve(undefined);
      },
    },
    ...withoutTaking(ground),
  });
  const isOver = (events: readonly RunEvent[]): boolean => {
    const chunks = events.map(toChunk);
    const ended = chunks.some(({ event }) => event === 'on_chain_end' || event === 'error');
    const steps = new Set(
      chunks.filter((chunk) => statusOf(chunk) === 'completed').map(({ metadata }) => stepOf(metadata)),
    );
    return ended || steps.size === commits;
  };
  const dying = await replicas.open({ graph, through });
  const initialStateJson = Buffer.from(JSON.stringify(graph === failingAtOnce ? { turns: 5 } : {}));
  const { runId } = await start(dying.execution, { granularity, initialStateJson, messages: [user('hi', 'input')] });
  await committed.promise;
  dying.kill();
  const other = await replicas.open({ graph, ...(areStepsForgotten ? { through: forgetSteps } : {}) });
  const ofNext = await followAll(other.execution, runId);
  return { ofDead, ofNext };
}

const stepOf = (metadata: Chunk['metadata']): unknown => (metadata as { step?: number }).step;

for (const granularity of granularities) {
  for (const [what, graph, commits] of [
    ['its last', everything, 3],
    ['its second', everything, 2],
    ['its first', everything, 1],
    ['its failure', failing, 2],
    ['its failure in the first step', failingAtOnce, 1],
  ] as const) {
    test(`a ${granularity} log cut at any event continues after a death that follows ${what} commit as if no worker had died`, async (t) => {
      const scene = { graph, granularity, commits };
      const { length } = (await publishAfterDeath(scene, Infinity)).ofDead;
      t.true(length >= 4);
      for (let kept = 0; kept <= length; kept++) {
        const { ofDead, ofNext } = await publishAfterDeath(scene, kept);
        const title = `${String(kept)} of ${String(length)} events were kept`;
        holdsShape(t, ofNext, title);
        // What nobody but the record has to tell says so.
        t.is((toChunk(ofNext[0]).data as { rebuilt?: boolean }).rebuilt, kept === 0 ? true : undefined, title);
        t.deepEqual(textsOf(ofNext).slice(0, kept), textsOf(ofDead).slice(0, kept), title);
        const expected = textsOf(ofDead.filter((event) => isDerived(toChunk(event))));
        const actual = textsOf(ofNext.filter((event) => isDerived(toChunk(event))));
        t.deepEqual(actual.slice(0, expected.length), expected, title);
        const end = toChunk(ofNext.at(-1));
        t.is(end.event, graph === everything ? 'on_chain_end' : 'error', title);
        if (graph === everything) holdsEnd(t, end, ofNext, title);
      }
    });
  }
}

/** The run ended as an undisturbed one does, whichever worker ended it. */
function holdsEnd(t: ExecutionContext, { data }: Chunk, events: readonly RunEvent[], what: string): void {
  const { all_messages: added, state, context, summary } = data as Record<string, unknown>;
  const texts = (added as Chunk['message'][]).map((message) => textOf(message ?? { content: [] }));
  t.deepEqual(texts, ['Green "tea"\n', 'another note', 'on the left', 'said again', 'done'], what);
  const ids = (list: unknown): unknown => (list as { message_id: string }[]).map(({ message_id: id }) => id);
  const inContext = (added as { message_id: string }[]).map(({ message_id: id }) => id).slice(2);
  if (state !== undefined) {
    t.like(state, { zeal: 'z', apple: 'a', turns: 3 }, what);
    t.deepEqual(ids(context), ['input', ...inContext], what);
  }
  if (summary !== undefined) t.is(summary, 'in short', what);
  t.is(new Set(events.map(({ seq }) => seq)).size, events.length, what);
}

for (const granularity of ['low', 'full'] as const) {
  test(`a ${granularity} log cut at any event is ended without an event twice once the steps are no longer kept`, async (t) => {
    const scene = { graph: everything, granularity, commits: 3 };
    const { length } = (await publishAfterDeath(scene, Infinity)).ofDead;
    for (let kept = 0; kept < length; kept++) {
      const { ofNext } = await publishAfterDeath({ ...scene, areStepsForgotten: true }, kept);
      const chunks = ofNext.map(toChunk);
      const whole = chunks.flatMap(({ message }) => message ?? []);
      // Of one that was replaced, what it said first is no longer on record: its second text comes after chunks of the first.
      for (const message of whole.filter(({ message_id: id }) => !id.startsWith('note '))) {
        const parts = chunks.filter(({ metadata }) => metadata.message_id === message.message_id);
        const joined = parts.map(({ data }) => (typeof data === 'string' ? data : '')).join('');
        t.is(joined, textOf(message), `${String(kept)} of ${String(length)} events were kept`);
      }
      t.is(new Set(whole.map(({ message_id: id }) => id)).size, 5);
      t.is(chunks.at(-1)?.event, 'on_chain_end');
    }
  });
}

test('a log that is lost at any event while its worker lives is rebuilt from the record at its end', async (t) => {
  const { length } = (await publishAfterDeath({ graph: everything, granularity: 'full', commits: 3 }, Infinity)).ofDead;
  let kept = 1;
  for (let ofNext = await publishAfterLoss(kept); ofNext; ofNext = await publishAfterLoss(++kept)) {
    const title = `${String(kept)} events were lost`;
    holdsShape(t, ofNext, title);
    t.like(toChunk(ofNext[0]), { event: 'metadata', data: { rebuilt: true } }, title);
    holdsEnd(t, toChunk(ofNext.at(-1)), ofNext, title);
    t.is(ofNext.filter(isTerminal).length, 1, title);
    // Whoever comes back with a number of before has seen less than that, whatever stood under it.
    t.true((ofNext[0]?.seq ?? 0) > length, title);
  }
  t.true(kept > 20);
});

/** Loses a run's log after `kept` events; gives what is told in the end. `undefined`: the worker had nothing left to say. */
async function publishAfterLoss(kept: number): Promise<readonly RunEvent[] | undefined> {
  await using replicas = await openReplicas();
  await using empty = openSqliteRunLog({ path: ':memory:' });
  const ended = Promise.withResolvers<undefined>();
  let now: RunLog = replicas.eventLog;
  const log: RunLog = {
    ...replicas.eventLog,
    last: async (runId) => now.last(runId),
    isEnded: async (runId) => now.isEnded(runId),
    follow: (...given) => now.follow(...given),
    readUpTo: (...given) => now.readUpTo(...given),
    append: async (scope, after, events) => {
      if (after >= kept) now = empty;
      await now.append(scope, after, events);
      if (events.some(isTerminal)) ended.resolve(undefined);
    },
  };
  const { execution } = await replicas.open({ graph: everything, through: () => ({ eventLog: log }) });
  const { runId } = await start(execution, { granularity: 'full', messages: [user('hi', 'input')] });
  await ended.promise;
  return now === empty ? await followAll(execution, runId) : undefined;
}

test('an end cannot be waited for as long as something else always writes to the log first, and the wait does not last for ever', async (t) => {
  await using replicas = await openReplicas();
  const overtaken: RunLog = {
    ...replicas.eventLog,
    append: () => Promise.reject(stale('another worker has continued the log')),
  };
  const through = (): Partial<Ground> => ({ eventLog: overtaken });
  const { execution } = await replicas.open({ graph: failingAtOnce, through });
  const { runId } = await start(execution, { messages: [user('hi')] });
  await until(async () => (await replicas.threads.getRun({ owner, runId }, within(byLoad(60_000)))).end !== undefined);
  const other = await replicas.open({
    graph: failingAtOnce,
    through: (ground) => ({ ...withoutTaking(ground), ...through() }),
  });
  await t.throwsAsync(other.execution.wait({ owner, runId }, within(byLoad(60_000))), {
    code: 'Unavailable',
    message: /the end of the run cannot be published right now/,
  });
});

test('an end whose time on record is of a clock that is an hour ahead is published as soon as any other', async (t) => {
  await using replicas = await openReplicas();
  const silent: RunLog = { ...replicas.eventLog, append: () => Promise.reject(stale('its worker is gone')) };
  const { execution } = await replicas.open({ graph: failingAtOnce, through: () => ({ eventLog: silent }) });
  const { runId } = await start(execution, { messages: [user('hi')] });
  await until(async () => (await replicas.threads.getRun({ owner, runId }, within(byLoad(60_000)))).end !== undefined);
  const { threads } = replicas;
  const ahead: Ground['threads'] = {
    ...threads,
    getRun: async (...given) => {
      const run = await threads.getRun(...given);
      return { ...run, updatedAt: run.updatedAt + 3_600_000 };
    },
  };
  const other = await replicas.open({
    graph: failingAtOnce,
    through: (ground) => ({ ...withoutTaking(ground), threads: ahead }),
  });
  const end = toChunk(await other.execution.wait({ owner, runId }, within(byLoad(30_000))));
  t.is(end.event, 'error');
});

test('once steps are no longer kept, whole messages are published instead', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({
    graph: everything,
    through: forgetSteps,
  });
  const { runId } = await start(execution, { granularity: 'full' });
  const kept = (await followAll(execution, runId)).map(toChunk);
  t.is(await replicas.eventLog.expire(Date.now() + 1, 10), 1);
  const rebuilt = (await followAll(execution, runId)).map(toChunk);
  t.like(rebuilt[0], { event: 'metadata', data: { run_id: runId, rebuilt: true } });
  const newest = new Map(kept.flatMap(({ message }) => (message ? [[message.message_id, message] as const] : [])));
  t.deepEqual(
    rebuilt.flatMap(({ message }) => message ?? []),
    [...newest.values()],
  );
  t.deepEqual(rebuilt.at(-1)?.data, kept.at(-1)?.data);
  t.is(
    (
      await replicas.threads.getRun(
        { owner, runId },
        { deadline: Date.now() + 1000, signal: new AbortController().signal },
      )
    ).status,
    'completed',
  );
});

/** Commits one step, and does not end the next. */
const endless = new StateGraph({ turns })
  .addNode('first', (_state, ctx) => {
    ctx.emit('kept');
    return { turns: 1 };
  })
  .addNode('second', async () => new Promise<never>(() => undefined))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .compile();

const whatOf = (chunk: Chunk): unknown => statusOf(chunk) ?? chunk.event;

/** A run whose workers die before they publish that it has committed a step, until another gives it up: what that one publishes. */
async function failByClaims(last: Pick<ReplicaOptions, 'through'>): Promise<readonly Chunk[]> {
  await using replicas = await openReplicas();
  const { promise: committed, resolve } = Promise.withResolvers<undefined>();
  const dying = async (): Promise<Replica> =>
    replicas.open({
      graph: endless,
      through: ({ eventLog }) => ({
        eventLog: {
          ...eventLog,
          append: async (scope, after, events, options) => {
            if (after === 0) return eventLog.append(scope, after, events, options);
            if (events.some((event) => statusOf(toChunk(event)) === 'completed')) resolve(undefined);
            return new Promise(() => undefined);
          },
        },
      }),
    });
  let holder = await dying();
  const { runId } = await start(holder.execution, { granularity: 'full' });
  await committed;
  for (let claim = 1; claim <= 3; claim++) {
    const epochOf = async (): Promise<number> => (await replicas.threads.getRun({ owner, runId }, call())).epoch ?? 0;
    const epoch = await epochOf();
    holder.kill();
    holder = await dying();
    await until(async () => (await epochOf()) > epoch);
  }
  holder.kill();
  const { execution } = await replicas.open({ graph: endless, ...last });
  return (await followAll(execution, runId)).map(toChunk);
}

test('who gives a run up publishes what it has committed, though each of its claims died before it could', async (t) => {
  const chunks = await failByClaims({});
  const ofStep = ['messages_chunk', 'messages_chunk', 'state_chunk', 'context_chunk', 'completed'];
  t.deepEqual(chunks.map(whatOf), ['metadata', 'on_chain_start', 'started', ...ofStep, 'error']);
  t.deepEqual(
    chunks.flatMap(({ message }) => (message ? textOf(message) : [])),
    ['kept'],
  );
});

test('a run that was given up is published as its messages where nobody published it before its steps went', async (t) => {
  const chunks = await failByClaims({ through: forgetSteps });
  const ofMessage = ['messages_chunk', 'messages_chunk'];
  t.deepEqual(chunks.map(whatOf), ['metadata', 'on_chain_start', 'started', ...ofMessage, 'error']);
  t.deepEqual(
    chunks.flatMap(({ message }) => (message ? textOf(message) : [])),
    ['kept'],
  );
});

test('a rebuilt log has the state that the run left, whatever came after it', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: everything });
  const run = async (): Promise<string> => (await start(execution, { threadId: 't1', granularity: 'full' })).runId;
  const runIds = [await run(), await run(), await run()];
  const kept = await Promise.all(runIds.map(async (runId) => textsOf(await followAll(execution, runId))));
  t.is(await replicas.eventLog.expire(Date.now() + 1, 10), 3);
  for (const [index, runId] of runIds.entries()) {
    const rebuilt = textsOf(await followAll(execution, runId));
    t.is(rebuilt.at(-1), kept[index]?.at(-1));
  }
});

test.serial('rebuilding a log of large events from the record blocks no other work for long', async (t) => {
  t.timeout(byLoad(120_000));
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: boulders });
  const { runId } = await start(execution, { granularity: 'full' });
  const kept = (await followAll(execution, runId)).at(-1)?.data.byteLength;
  t.is(await replicas.eventLog.expire(Date.now() + 1, 10), 1);
  let bytes = 0;
  let last: number | undefined;
  const blockMs = await longestBlockMs(async () => {
    for await (const { events } of execution.follow({ owner, runId, after: 0 }, within(byLoad(60_000))))
      for (const { data } of events) bytes += last = data.byteLength;
  });
  t.is(last, kept);
  t.log(`${(bytes / 1e6).toFixed(0)} MB were published again: ${blockMs.toFixed(0)} ms at the longest`);
  t.true(blockMs <= 2 * generousMs, `${blockMs.toFixed(0)} ms`);
});
