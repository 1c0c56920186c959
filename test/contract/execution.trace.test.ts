import test, { type ExecutionContext } from 'ava';
import { END, modelNode, send, START, StateGraph, type CompiledGraph, type Model } from '@agent-workflow/graph';
import { runContentBytes, spanContentBytes, type StoredTrace } from '@agent-workflow/protos/run-trace';
import { readContent, readTrace } from '@agent-workflow/protos/stored-trace';
import type { ListRunTraceReply, Threads, TracedStep } from '@agent-workflow/protos/threads';
import { call, endOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { gates, passGate } from './execution/gates.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type Replicas } from './replicas.ts';

const replicasFor = async (t: ExecutionContext): Promise<Replicas> => {
  const replicas = await openReplicas();
  t.teardown(async () => replicas[Symbol.asyncDispose]());
  return replicas;
};

const traceOf = (threads: Threads, runId: string): Promise<ListRunTraceReply> =>
  threads.listRunTrace({ owner, runId, fromStep: 0, limit: 100, withContent: true }, call());

const spansOf = ({ trace }: TracedStep): StoredTrace => (trace ? readTrace(trace.spansJson) : { spans: [] });

const never = new Promise<never>(() => undefined);

const fanOut = (visit: (item: unknown) => Promise<void> | void): CompiledGraph =>
  new StateGraph({})
    .addNode(
      'work',
      async (_, { input, emit }) => {
        await visit(input);
        emit(`did ${String(input)}`);
      },
      { maxConcurrency: 1 },
    )
    .addNode('join', (_, { emit }) => emit('joined'))
    .addConditionalEdges(START, () => [0, 1, 2, 3].map((item) => send('work', item)), ['work'])
    .addEdge('work', 'join')
    .addEdge('join', END)
    .compile();

test('a worker that dies in a step loses its trace alone; what the next one finds on record shows as replayed', async (t) => {
  const replicas = await replicasFor(t);
  const begun = Promise.withResolvers<undefined>();
  const dying = await replicas.open({
    graph: fanOut((item) => {
      if (item !== 2) return undefined;
      begun.resolve(undefined);
      return never;
    }),
  });
  const { runId } = await start(dying.execution, { threadId: 't1' });
  await begun.promise;
  const before = await traceOf(replicas.threads, runId);
  t.deepEqual(before.steps, []);
  t.like(before.uncommitted, { step: 0 });
  dying.kill();
  const { execution } = await replicas.open({ graph: fanOut(() => undefined) });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  const { steps, uncommitted, hasMore } = await traceOf(replicas.threads, runId);
  t.deepEqual([uncommitted, hasMore], [undefined, false]);
  t.deepEqual(
    steps.map((step) => [step.step, step.nodes, spansOf(step).takeover]),
    [
      [0, ['work'], true],
      [1, ['join'], undefined],
    ],
  );
  const [first, second] = steps;
  t.deepEqual(
    first &&
      spansOf(first).spans.map(({ kind, in: parent, number, replayed, status }) => [
        ...[kind, parent, number, replayed, status],
      ]),
    [
      ['node', undefined, undefined, undefined, undefined],
      ['branch', 1, 0, true, undefined],
      ['branch', 1, 1, true, undefined],
      ['branch', 1, 2, undefined, undefined],
      ['branch', 1, 3, undefined, undefined],
    ],
  );
  t.is(second?.trace, undefined, 'a step of one plain node stores nothing');
});

test('a run that is killed between two steps has the trace of the first, and says which is under way', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  const graph = new StateGraph({})
    .addNode('first', (_, { emit }) => emit('first'))
    .addNode('second', async (state, ctx) => {
      await passGate(state.context, ctx);
      ctx.emit('second');
    })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();
  const dying = await replicas.open({ graph });
  const { runId } = await start(dying.execution, { messages: [user(gate.name)] });
  await gate.entered;
  const { steps, uncommitted } = await traceOf(replicas.threads, runId);
  t.deepEqual(
    steps.map(({ nodes }) => nodes),
    [['first']],
  );
  t.deepEqual(uncommitted, { step: 1, nodes: ['second'], since: steps[0]?.at ?? 0 });
  dying.kill();
  gate.open();
  const { execution } = await replicas.open({ graph, sweepMs: 20 });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(
    (await traceOf(replicas.threads, runId)).steps.map(({ nodes, work }) => [nodes, work?.attempt]),
    [
      [['first'], 1],
      [['second'], 2],
    ],
  );
});

const prompt = 'the words of the author ';

/** Asks a model with a prompt of ten megabytes, so many times. */
function asking(rounds: number): CompiledGraph {
  const model: Model = {
    name: 'small-1',
    async *answer() {
      yield { type: 'text', text: 'yes' };
    },
  };
  const long = prompt.repeat((10 * 1024 * 1024) / prompt.length);
  let asked = 0;
  return new StateGraph({})
    .addNode('agent', modelNode({ model, instructions: () => `${String((asked += 1))} ${long}` }))
    .addConditionalEdges('agent', () => (asked < rounds ? 'agent' : END), ['agent', END])
    .addEdge(START, 'agent')
    .compile();
}

test('a prompt of ten megabytes is kept as far as the bound of a span, and those of a run as far as its bound', async (t) => {
  const rounds = 80;
  const replicas = await replicasFor(t);
  const { execution } = await replicas.open({ graph: asking(rounds), env: { TRACE_CONTENT: 'on' } });
  const { runId } = await start(execution, { threadId: 't1', recursionLimit: rounds + 1 });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  const steps: TracedStep[] = [];
  for (let fromStep = 0; steps.length < rounds; fromStep = steps.length)
    steps.push(
      ...(await replicas.threads.listRunTrace({ owner, runId, fromStep, limit: 100, withContent: true }, call())).steps,
    );
  const sizes = steps.map(({ trace }) => trace?.contentJson?.byteLength ?? 0);
  t.true(sizes.every((size) => size <= spanContentBytes + 1024));
  const sum = sizes.reduce((all, size) => all + size, 0);
  t.true(sum <= runContentBytes + rounds * 1024 && sum > 0.9 * runContentBytes, String(sum));
  const [first, last] = [steps[0], steps.at(-1)];
  const content = first?.trace?.contentJson && readContent(first.trace.contentJson)['2'];
  t.true(content?.instructions?.startsWith(`1 ${prompt}`));
  t.true((content?.cut?.['instructions'] ?? 0) > 10_000_000);
  t.like(last && spansOf(last).spans[1], { kind: 'model', lost: true });
});

test('without TRACE_CONTENT nothing of a prompt is on record', async (t) => {
  const replicas = await replicasFor(t);
  const { execution } = await replicas.open({ graph: asking(2) });
  const { runId } = await start(execution, { threadId: 't1' });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  const { steps } = await traceOf(replicas.threads, runId);
  t.is(steps.length, 2);
  for (const { trace } of steps) {
    t.is(trace?.contentJson, undefined);
    t.false(Buffer.from(trace?.spansJson ?? '').includes('author'));
  }
});
