import test from 'ava';
import {
  createReactAgent,
  END,
  field,
  START,
  StateGraph,
  tool,
  type CompiledGraph,
  type NodeContext,
} from '@agent-workflow/graph';
import { fakeModel } from '@agent-workflow/graph/testing';
import { invalid } from '@agent-workflow/kit/errors';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { textOf } from '@agent-workflow/protos/message';
import type { Threads } from '@agent-workflow/protos/threads';
import { call, endOf, fieldOf, followAll, logOf, owner, start } from './execution/calls.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type Ground } from './replicas.ts';

const turns = field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more });

type Second = (attempt: number, ctx: NodeContext) => unknown;

/** A graph of two nodes. The second is speculative, and gets the number of its attempt. */
function graphOf(second: Second, policy: object = {}): ReturnType<StateGraph<{ turns: typeof turns }>['compile']> {
  let attempts = 0;
  return new StateGraph({ turns })
    .addNode('first', (_state, ctx) => {
      ctx.emit('first');
      return { turns: 1 };
    })
    .addNode('second', async (_state, ctx) => (await second(++attempts, ctx)) as { turns: number } | undefined, {
      ...policy,
      speculative: true,
    })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();
}

/** The first commit of a step waits until it is let go; its answer may be another. */
function gate(answer: (commit: () => ReturnType<Threads['commitStep']>) => ReturnType<Threads['commitStep']>): {
  readonly through: (ground: Ground) => Partial<Ground>;
  readonly release: () => void;
} {
  const gone = Promise.withResolvers<undefined>();
  let isFirst = true;
  return {
    release: () => gone.resolve(undefined),
    through: ({ threads }) => ({
      threads: {
        ...threads,
        acceptRun: async ({ claim: _, ...request }, at) => threads.acceptRun(request, at),
        commitStep: async (request, at) => {
          if (!isFirst) return threads.commitStep(request, at);
          isFirst = false;
          await gone.promise;
          return answer(async () => threads.commitStep(request, at));
        },
      },
    }),
  };
}

const asEver = async <T>(commit: () => Promise<T>): Promise<T> => commit();
const go = { threadId: 't1', messages: [user('go')] };
const statusOf = (chunk: ReturnType<typeof toChunk>): unknown => resultOf(chunk).meta.status;

test('a speculative node begins while the commit before it is under way, and nothing of it is published before', async (t) => {
  await using replicas = await openReplicas();
  const begun = Promise.withResolvers<undefined>();
  const { through, release } = gate(asEver);
  const { execution } = await replicas.open({
    through,
    graph: graphOf((_attempt, ctx) => {
      ctx.progress({ share: 0.5 });
      ctx.emit('second');
      begun.resolve(undefined);
      return { turns: 1 };
    }),
  });
  const { runId } = await start(execution, { ...go, granularity: 'full' });
  await begun.promise;
  const before = await replicas.eventLog.last(runId);
  release();
  t.is(statusOf(await endOf(execution, runId)), 'completed');
  const events = (await followAll(execution, runId)).map(toChunk);
  const sources = events.map(({ metadata }) => metadata);
  const firstOfSecond = sources.findIndex((source) => source.node === 'second');
  const lastOfFirst = sources.findLastIndex((source) => source.node === 'first');
  t.true(lastOfFirst < firstOfSecond, JSON.stringify(events));
  t.true(before <= lastOfFirst);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['go', 'first', 'second']);
  t.is(await fieldOf(replicas.threads, 't1', 'turns'), 2);
});

test('its calls of the memory service wait for that commit', async (t) => {
  await using replicas = await openReplicas();
  const begun = Promise.withResolvers<undefined>();
  const { through, release } = gate(asEver);
  let isGone = false;
  const calls: boolean[] = [];
  const { execution } = await replicas.open({
    through: (ground) => ({
      ...through(ground),
      memory: {
        ...ground.memory,
        store: async (request, at) => {
          calls.push(isGone);
          return ground.memory.store(request, at);
        },
      },
    }),
    graph: graphOf(async (_attempt, ctx) => {
      begun.resolve(undefined);
      await ctx.memory.store({ content: 'tea at five' });
      return { turns: (await ctx.memory.search('tea')).length };
    }),
  });
  const { runId } = await start(execution, go);
  await begun.promise;
  await nextTurn();
  t.deepEqual(calls, []);
  isGone = true;
  release();
  t.is(statusOf(await endOf(execution, runId)), 'completed');
  t.deepEqual(calls, [true]);
  t.is(await fieldOf(replicas.threads, 't1', 'turns'), 2);
});

test('when that commit is refused its signal fires, and nothing of it is published', async (t) => {
  await using replicas = await openReplicas();
  const fired = Promise.withResolvers<undefined>();
  const begun = Promise.withResolvers<undefined>();
  const { through, release } = gate(async () => Promise.reject(invalid(['fields'], 'is not wanted')));
  const { execution } = await replicas.open({
    through,
    graph: graphOf(async (_attempt, ctx) => {
      ctx.signal.addEventListener('abort', () => fired.resolve(undefined));
      ctx.emit('second');
      begun.resolve(undefined);
      await fired.promise;
      ctx.emit('late');
      return { turns: 1 };
    }),
  });
  const { runId } = await start(execution, { ...go, granularity: 'full' });
  await begun.promise;
  release();
  await fired.promise;
  const end = await endOf(execution, runId);
  t.is(end.event, 'error');
  t.true(JSON.stringify(end.data).includes('is not wanted'));
  const events = (await followAll(execution, runId)).map(toChunk);
  t.false(events.some(({ metadata }) => metadata.node === 'second'));
});

test('a stop of the run fires its signal', async (t) => {
  await using replicas = await openReplicas();
  const fired = Promise.withResolvers<undefined>();
  const begun = Promise.withResolvers<undefined>();
  const { through, release } = gate(asEver);
  const { execution } = await replicas.open({
    through,
    graph: graphOf(async (_attempt, ctx) => {
      ctx.signal.addEventListener('abort', () => fired.resolve(undefined));
      begun.resolve(undefined);
      await new Promise(() => undefined);
    }),
  });
  const { runId } = await start(execution, go);
  await begun.promise;
  await execution.stopRun({ owner, runId }, call());
  await fired.promise;
  release();
  t.is(statusOf(await endOf(execution, runId)), 'stopped');
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['go']);
});

for (const [what, early] of [
  ['fails', () => Promise.reject(new Error('no tea'))],
  [
    'emits more than is held back',
    (ctx) => {
      for (let index = 0; index < 5000; index++) ctx.emit('x');
    },
  ],
  ['publishes more than is held back', (ctx) => ctx.progress({ text: 'x'.repeat(60_000) })],
] as const satisfies readonly (readonly [string, (ctx: NodeContext) => unknown])[])
  test(`a node that ${what} before that commit is on record begins anew after it`, async (t) => {
    await using replicas = await openReplicas();
    const over = Promise.withResolvers<undefined>();
    const { through, release } = gate(asEver);
    const { execution } = await replicas.open({
      through,
      graph: graphOf(async (attempt, ctx) => {
        if (attempt > 1) {
          ctx.emit('second');
          return { turns: attempt };
        }
        ctx.signal.addEventListener('abort', () => over.resolve(undefined));
        while (!ctx.signal.aborted) await early(ctx);
        return { turns: 100 };
      }),
    });
    const { runId } = await start(execution, { ...go, granularity: 'full' });
    await over.promise;
    await nextTurn();
    release();
    t.is(statusOf(await endOf(execution, runId)), 'completed');
    t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['go', 'first', 'second']);
    t.is(await fieldOf(replicas.threads, 't1', 'turns'), 3);
    const events = (await followAll(execution, runId)).map(toChunk);
    t.is(events.filter(({ data }) => (data as { status?: string } | undefined)?.status === 'started').length, 2);
    t.false(JSON.stringify(events).includes('xxx'));
  });

test('its timeout counts from that commit on', async (t) => {
  await using replicas = await openReplicas();
  const { through, release } = gate(asEver);
  const timeoutMs = 200;
  const attempts: number[] = [];
  const begun = Promise.withResolvers<undefined>();
  const { execution } = await replicas.open({
    through,
    graph: graphOf(
      async (attempt, ctx) => {
        attempts.push(attempt);
        begun.resolve(undefined);
        await ctx.memory.search('tea');
        return { turns: 1 };
      },
      { timeoutMs },
    ),
  });
  const { runId } = await start(execution, go);
  await begun.promise;
  const until = performance.now() + 2 * timeoutMs;
  while (performance.now() < until) await nextTurn();
  release();
  t.is(statusOf(await endOf(execution, runId)), 'completed');
  t.deepEqual(attempts, [1]);
});

test('a node that sleeps before that commit is on record sleeps from the commit on', async (t) => {
  await using replicas = await openReplicas();
  const { through, release } = gate(asEver);
  const slept = Promise.withResolvers<undefined>();
  const sleepMs = 3_600_000;
  const { execution } = await replicas.open({
    through,
    graph: graphOf(async (_attempt, ctx) => {
      slept.resolve(undefined);
      await ctx.sleep(sleepMs);
    }),
  });
  const { runId } = await start(execution, go);
  await slept.promise;
  const until = performance.now() + 50;
  while (performance.now() < until) await nextTurn();
  const committed = Date.now();
  release();
  let run = await replicas.threads.getRun({ owner, runId }, call());
  while (run.status !== 'sleeping') {
    await nextTurn();
    run = await replicas.threads.getRun({ owner, runId }, call());
  }
  t.true((run.wakeAt ?? 0) >= committed + sleepMs);
});

test('a call takes its arguments as they were when it was made', async (t) => {
  await using replicas = await openReplicas();
  const { through, release } = gate(asEver);
  const begun = Promise.withResolvers<undefined>();
  const { execution } = await replicas.open({
    through,
    graph: graphOf(async (_attempt, ctx) => {
      const memory = { content: '' };
      const stored = ['one', 'two'].map((content) => ctx.memory.store(Object.assign(memory, { content })));
      begun.resolve(undefined);
      await Promise.all(stored);
    }),
  });
  const { runId } = await start(execution, go);
  await begun.promise;
  release();
  t.is(statusOf(await endOf(execution, runId)), 'completed');
  const { memories } = await replicas.memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call());
  t.deepEqual(memories.map(({ content }) => content).toSorted(), ['one', 'two']);
});

/** Two speculative nodes after the first: one throws once, the other waits for a call. */
function pairOf(
  node: (name: 'throwing' | 'calling', attempt: number, ctx: NodeContext) => Promise<void>,
): CompiledGraph {
  const attempts = { throwing: 0, calling: 0 };
  const nodeOf = (name: keyof typeof attempts) => async (_state: unknown, ctx: NodeContext) =>
    node(name, ++attempts[name], ctx);
  return new StateGraph({})
    .addNode('first', () => undefined)
    .addNode('calling', nodeOf('calling'), { speculative: true })
    .addNode('throwing', nodeOf('throwing'), { speculative: true })
    .addEdge(START, 'first')
    .addEdge('first', 'calling')
    .addEdge('first', 'throwing')
    .compile();
}

test('a call that waits ends with its step, and the log names the node that failed', async (t) => {
  await using replicas = await openReplicas();
  const { through, release } = gate(asEver);
  const left = Promise.withResolvers<undefined>();
  const lines: string[] = [];
  const { execution } = await replicas.open({
    through,
    onWarning: ({ node }) => lines.push(String(node)),
    graph: pairOf(async (name, attempt, ctx) => {
      if (attempt > 1) return;
      if (name === 'throwing') throw new Error('no tea');
      try {
        await ctx.memory.search('tea');
      } finally {
        left.resolve(undefined);
      }
    }),
  });
  const { runId } = await start(execution, go);
  await left.promise;
  release();
  t.is(statusOf(await endOf(execution, runId)), 'completed');
  t.deepEqual(lines, ['throwing']);
});

test('what a node does in its first turn cannot undo the step before', async (t) => {
  await using replicas = await openReplicas();
  const sent: number[] = [];
  const { execution } = await replicas.open({
    through: ({ threads }) => ({
      threads: {
        ...threads,
        commitStep: async (request, at) => {
          // As a connection does: what is sent leaves at the end of the turn.
          await nextTurn();
          sent.push(request.step);
          return threads.commitStep(request, at);
        },
      },
    }),
    graph: graphOf(() => {
      t.deepEqual(sent, [0]);
      return { turns: 1 };
    }),
  });
  const { runId } = await start(execution, go);
  t.is(statusOf(await endOf(execution, runId)), 'completed');
});

test('a commit that is not sent begins no node', async (t) => {
  await using replicas = await openReplicas();
  let seconds = 0;
  const graph = new StateGraph({ text: field<string>({ type: 'string', default: '' }) })
    .addNode('first', () => ({ text: 'x'.repeat(3 * 1024 * 1024) }))
    .addNode('second', () => void (seconds += 1), { speculative: true })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .compile();
  const { execution } = await replicas.open({ graph });
  const { runId } = await start(execution, go);
  t.is((await endOf(execution, runId)).event, 'error');
  t.is(seconds, 0);
});

test('a node begins anew where only the record knows the state after that commit', async (t) => {
  await using replicas = await openReplicas();
  const begun = Promise.withResolvers<undefined>();
  const { through, release } = gate(async (commit) => ({ ...(await commit()), rejoined: true }));
  const attempts: number[] = [];
  const { execution } = await replicas.open({
    through,
    graph: graphOf((attempt) => {
      attempts.push(attempt);
      begun.resolve(undefined);
      return { turns: attempt };
    }),
  });
  const { runId } = await start(execution, go);
  await begun.promise;
  release();
  t.is(statusOf(await endOf(execution, runId)), 'completed');
  t.deepEqual(attempts, [1, 2]);
  t.is(await fieldOf(replicas.threads, 't1', 'turns'), 3);
});

/** An agent that asks for one tool and then answers. */
function agentOf(policy: object): ReturnType<typeof createReactAgent> {
  const add = tool(
    { name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' } } } },
    ({ a }) => Number(a) + 1,
  );
  return createReactAgent({ model: fakeModel([{ call: 'add', args: { a: 1 } }, 'It is 2.']), tools: [add], policy });
}

/** What callers see of a run, without its ids and times. */
async function seenOf(policy: object): Promise<unknown[]> {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: agentOf(policy) });
  const { runId } = await start(execution, { ...go, granularity: 'full' });
  resultOf(await endOf(execution, runId));
  const events = (await followAll(execution, runId)).map(toChunk);
  return events.map(({ event, data, metadata: { node, role }, message }) => {
    const isText = typeof data === 'string';
    return { event, node, role, text: message ? textOf(message) : isText ? data : Object.keys(data as object) };
  });
}

test('an agent whose model is asked early is seen as one whose model is not', async (t) => {
  t.deepEqual(await seenOf({ speculative: true }), await seenOf({}));
});
