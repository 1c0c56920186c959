import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  createReactAgent,
  END,
  START,
  StateGraph,
  tool,
  toolNode,
  type CompiledGraph,
  type Tool,
} from '@agent-workflow/graph';
import { fakeModel } from '@agent-workflow/graph/testing';
import { invalid, unavailable } from '@agent-workflow/kit/errors';
import { textOf } from '@agent-workflow/protos/message';
import type { CommitStepRequest, Threads } from '@agent-workflow/protos/threads';
import { call, endOf, followAll, logOf, owner, start } from './execution/calls.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type Ground, type Replicas } from './replicas.ts';

const go = { threadId: 't1', messages: [user('go')] };
const parameters = { type: 'object', properties: { to: { type: 'integer' } } } as const;

type Work = (to: number, ctx: Parameters<NonNullable<Tool['run']>>[1]) => unknown;

const addOne: Work = (to) => to + 1;

const adding = (work: Work = addOne, replay: Tool['replay'] = 'pure'): Tool =>
  tool({ name: 'add', description: 'Adds one', parameters, replay }, ({ to }, ctx) => work(Number(to), ctx));

/** An agent that calls the tool twice, one call a round, and then answers. */
const agentOf = (tools: readonly Tool[], second = 'add'): CompiledGraph =>
  createReactAgent({
    model: fakeModel([{ call: 'add', args: { to: 1 } }, { call: second, args: { to: 2 } }, 'It is 3.']),
    tools,
  });

interface Sent {
  readonly commits: CommitStepRequest[];
  readonly through: (ground: Ground) => Partial<Ground>;
}

/** Keeps what is sent to the record; `answer` makes the reply. */
function sending(
  answer: (threads: Threads, ...given: Parameters<Threads['commitStep']>) => ReturnType<Threads['commitStep']> = async (
    threads,
    ...given
  ) => threads.commitStep(...given),
): Sent {
  const commits: CommitStepRequest[] = [];
  return {
    commits,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        commitStep: async (request, at) => {
          commits.push(request);
          return answer(threads, request, at);
        },
      },
    }),
  };
}

/** The steps of each commit. */
const stepsIn = (commits: readonly CommitStepRequest[]): readonly (readonly string[])[] =>
  commits.map(({ nodes, fused }) => [...nodes, ...(fused?.nodes ?? [])]);

const pairs = [['agent', 'tools'], ['agent', 'tools'], ['agent']];
const apart = [['agent'], ['tools'], ['agent'], ['tools'], ['agent']];

interface Seen {
  readonly events: readonly unknown[];
  readonly checkpoints: readonly unknown[];
  readonly log: readonly unknown[];
  readonly iterations: unknown;
}

/** What callers see of a run, without its ids and times. */
async function seenOf({ threads }: Replicas, { execution }: Awaited<ReturnType<Replicas['open']>>): Promise<Seen> {
  const { runId } = await start(execution, { ...go, granularity: 'full' });
  const { iterations } = resultOf(await endOf(execution, runId));
  const list = await followAll(execution, runId);
  const { checkpoints } = await threads.listCheckpoints({ owner, threadId: 't1', limit: 100, offset: 0 }, call());
  return {
    events: list.map(toChunk).map(({ event, data, metadata, message }) => {
      const { node, role, step } = metadata as Readonly<Record<string, unknown>>;
      const isText = typeof data === 'string';
      const text = message ? textOf(message) : isText ? data : Object.keys(data as object);
      return { event, node, role, step, text, status: (data as { status?: string } | undefined)?.status };
    }),
    checkpoints: checkpoints.map(({ source, step, nodes, next, work }) => ({
      source,
      step,
      nodes,
      next,
      attempt: work?.attempt,
    })),
    log: (await logOf(threads, 't1')).map(({ role, content }) => [
      role,
      content.map(({ type, output }) => [type, output]),
    ]),
    iterations,
  };
}

test('a step of pure tools is committed in one write with the step that called them', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const { execution } = await replicas.open({ graph: agentOf([adding()]), through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(stepsIn(commits), pairs);
});

test('callers see the same of a run whose steps are fused as of one whose steps are not', async (t) => {
  await using fused = await openReplicas();
  await using single = await openReplicas();
  const { commits, through } = sending();
  const pure = await seenOf(fused, await fused.open({ graph: agentOf([adding()]), through }));
  t.deepEqual(pure, await seenOf(single, await single.open({ graph: agentOf([adding(addOne, 'safe')]) })));
  t.deepEqual(stepsIn(commits), pairs);
});

for (const [what, tools] of [
  ['is not declared pure', [adding(addOne, 'safe')]],
  ['is made at most once', [adding(addOne, 'once')]],
  ['goes on in a later turn', [adding(async (to) => nextTurn(to + 1))]],
  ['calls the memory service', [adding(async (to, { memory }) => to + (await memory.search('tea')).length + 1)]],
] as const)
  test(`the step of a tool that ${what} is committed by itself`, async (t) => {
    await using replicas = await openReplicas();
    const { commits, through } = sending();
    const { execution } = await replicas.open({ graph: agentOf(tools), through });
    const { runId } = await start(execution, go);
    t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
    t.deepEqual(stepsIn(commits), apart);
    t.deepEqual(outputsOf(await logOf(replicas.threads, 't1')), [2, 3]);
  });

const outputsOf = (log: Awaited<ReturnType<typeof logOf>>): unknown[] =>
  log.filter(({ role }) => role === 'tool').map(({ content: [block] }) => block?.['output']);

test('calls of a pure tool beside one that is not are committed by themselves', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const other = tool({ name: 'note', description: 'Notes', parameters }, ({ to }) => Number(to) + 1);
  const { execution } = await replicas.open({ graph: agentOf([adding(), other], 'note'), through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(stepsIn(commits), [['agent', 'tools'], ['agent'], ['tools'], ['agent']]);
});

test('a tool that goes on is not waited for: the step that called it is on record meanwhile, and it is called once', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const gone = Promise.withResolvers<undefined>();
  let calls = 0;
  const slow = adding(async (to, { signal }) => {
    calls += 1;
    if (to === 1) await gone.promise;
    t.false(signal.aborted);
    return to + 1;
  });
  const { execution } = await replicas.open({ graph: agentOf([slow]), through });
  const { runId } = await start(execution, go);
  for (;;) {
    const { steps } = await replicas.threads.listRunSteps({ owner, runId, fromStep: 0 }, call());
    if (steps.length === 1) break;
    await nextTurn();
  }
  t.is(calls, 1);
  gone.resolve(undefined);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(stepsIn(commits), [['agent'], ['tools'], ['agent', 'tools'], ['agent']]);
  t.is(calls, 2);
});

test('a tool that keeps the event loop twice is not called before that commit for a while', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const blocking = adding((to) => {
    for (const until = performance.now() + 5; performance.now() < until;);
    return to + 1;
  });
  const rounds = Array.from({ length: 8 }, () => ({ call: 'add', args: { to: 1 } }));
  const graph = createReactAgent({ model: fakeModel([...rounds, 'done']), tools: [blocking] });
  const { execution } = await replicas.open({ graph, through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  const alone = commits.filter(({ nodes }) => nodes.includes('tools'));
  t.true(alone.length > 0 && alone.length <= 6, JSON.stringify(stepsIn(commits)));
});

test('a pure tool that asks the caller is committed by itself, and called again with the answer', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const asking = adding((to, { interrupt }) => (to === 1 ? Number(interrupt('how many?')) : to + 1));
  const { execution } = await replicas.open({ graph: agentOf([asking]), through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'interrupted');
  t.deepEqual(stepsIn(commits), [['agent'], ['tools']]);
  const answered = await start(execution, { threadId: 't1', messages: [], resumeJson: Buffer.from('7') });
  t.is(resultOf(await endOf(execution, answered.runId)).meta.status, 'completed');
  t.deepEqual(outputsOf(await logOf(replicas.threads, 't1')), [7, 3]);
});

test('a pure tool that sleeps is committed by itself', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const sleeping = adding(async (_to, { sleep }) => sleep(3_600_000));
  const { execution } = await replicas.open({ graph: agentOf([sleeping]), through });
  const { runId } = await start(execution, go);
  while ((await replicas.threads.getRun({ owner, runId }, call())).status !== 'sleeping') await nextTurn();
  t.deepEqual(stepsIn(commits), [['agent'], ['tools']]);
});

test('an error of a pure tool is its answer, in one write with the step that called it', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const failing = adding(() => {
    throw new Error('no tea');
  });
  const { execution } = await replicas.open({ graph: agentOf([failing]), through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(stepsIn(commits), pairs);
  t.deepEqual(outputsOf(await logOf(replicas.threads, 't1')), ['no tea', 'no tea']);
});

test('the step of pure tools may be the last of the run', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const graph = new StateGraph({})
    .addNode('agent', (_state, { emit }) => {
      emit({ type: 'tool_call', id: 'c1', name: 'add', args: { to: 1 } });
    })
    .addNode('tools', toolNode([adding()]))
    .addEdge(START, 'agent')
    .addEdge('agent', 'tools')
    .addEdge('tools', END)
    .compile();
  const { execution } = await replicas.open({ graph, through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(stepsIn(commits), [['agent', 'tools']]);
  t.is((await replicas.threads.getRun({ owner, runId }, call())).status, 'completed');
});

test('the recursion limit counts as ever', async (t) => {
  await using replicas = await openReplicas();
  const graph = createReactAgent({
    model: fakeModel(Array.from({ length: 9 }, () => ({ call: 'add', args: { to: 1 } }))),
    tools: [adding()],
  });
  const { execution } = await replicas.open({ graph });
  const { runId } = await start(execution, { ...go, recursionLimit: 3 });
  t.like(resultOf(await endOf(execution, runId)), { iterations: 3, recursion_limit_reached: true });
  const { steps } = await replicas.threads.listRunSteps({ owner, runId, fromStep: 0 }, call());
  t.deepEqual(
    steps.map(({ nodes: [node] }) => node),
    ['agent', 'tools', 'agent', 'tools', 'agent', 'tools'],
  );
});

test('steps that are together too large are committed apart', async (t) => {
  await using replicas = await openReplicas();
  const { commits, through } = sending();
  const text = 'x'.repeat(1024 * 1024 * 1.6);
  const graph = new StateGraph({})
    .addNode('agent', (_state, { emit }) => {
      emit(text);
      emit({ type: 'tool_call', id: 'c1', name: 'add', args: { to: 1 } });
    })
    .addNode('tools', toolNode([adding(() => text)]))
    .addEdge(START, 'agent')
    .addEdge('agent', 'tools')
    .compile();
  const { execution } = await replicas.open({ graph, through });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(stepsIn(commits), [['agent'], ['tools']]);
});

/** Holds that a run ends as it would with commits apart, however the record answers two steps in one write. */
async function endsAsEver(t: ExecutionContext, sent: Sent): Promise<void> {
  let calls = 0;
  await using replicas = await openReplicas();
  const counting = adding((to) => {
    calls += 1;
    return to + 1;
  });
  const graph = agentOf([counting]);
  const seen = await seenOf(replicas, await replicas.open({ graph, through: sent.through }));
  await using single = await openReplicas();
  t.deepEqual(seen, await seenOf(single, await single.open({ graph: agentOf([adding(addOne, 'safe')]) })));
  t.is(calls, 2);
}

test('steps that the record refuses together are committed apart', async (t) => {
  const sent = sending(async (threads, request, at) => {
    if (request.fused) throw invalid(['messages'], 'together are too many');
    return threads.commitStep(request, at);
  });
  await endsAsEver(t, sent);
  t.deepEqual(stepsIn(sent.commits), [
    ...[['agent', 'tools'], ['agent'], ['tools']],
    ...[['agent', 'tools'], ['agent'], ['tools'], ['agent']],
  ]);
});

test('an answer that was lost is asked for again, and both steps are committed once', async (t) => {
  let isLost = false;
  const sent = sending(async (threads, request, at) => {
    const reply = await threads.commitStep(request, at);
    if (isLost) return reply;
    isLost = true;
    throw unavailable('the answer was lost');
  });
  await endsAsEver(t, sent);
  t.deepEqual(stepsIn(sent.commits), [['agent', 'tools'], ...pairs]);
});

test('a worker that dies before the write leaves neither step, and one that dies after it leaves both', async (t) => {
  for (const isWritten of [false, true]) {
    await using replicas = await openReplicas();
    const dead = Promise.withResolvers<undefined>();
    const { through } = sending(async (threads, request, at) => {
      if (isWritten) await threads.commitStep(request, at);
      dead.resolve(undefined);
      return new Promise(() => undefined);
    });
    let asked = 0;
    const graph = new StateGraph({})
      .addNode('agent', ({ context }, { emit }) => {
        asked += 1;
        if (context.some(({ role }) => role === 'tool')) emit('done');
        else emit({ type: 'tool_call', id: 'c1', name: 'add', args: { to: 1 } });
      })
      .addNode('tools', toolNode([adding()]))
      .addEdge(START, 'agent')
      .addConditionalEdges(
        'agent',
        ({ context }) => (context.at(-1)?.content[0]?.type === 'tool_call' ? 'tools' : END),
        ['tools', END],
      )
      .addEdge('tools', 'agent')
      .compile();
    const first = await replicas.open({ graph, through });
    const { runId } = await start(first.execution, { ...go, granularity: 'full' });
    await dead.promise;
    first.kill();
    const { commits, through: after } = sending();
    const { execution } = await replicas.open({ graph, through: after });
    t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
    // The first step of a takeover is committed by itself.
    t.deepEqual(stepsIn(commits), isWritten ? [['agent']] : [['agent'], ['tools'], ['agent']]);
    t.is(asked, isWritten ? 2 : 3);
    const events = (await followAll(execution, runId)).map(toChunk);
    t.deepEqual(
      events
        .filter(({ event, message }) => event === 'on_chat_model_end' || message)
        .map(({ metadata }) => (metadata as { readonly step?: number }).step),
      [0, 1, 2],
    );
    t.deepEqual(
      (await logOf(replicas.threads, 't1')).map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    );
  }
});

test('the tokens of each of two fused steps are those of its own', async (t) => {
  await using replicas = await openReplicas();
  const model = 'm';
  const { commits, through } = sending();
  const graph = new StateGraph({})
    .addNode('agent', (_state, { emit, usage }) => {
      usage({ model, inputTokens: 5, outputTokens: 1 });
      emit({ type: 'tool_call', id: 'c1', name: 'add', args: { to: 1 } });
    })
    .addNode(
      'tools',
      toolNode([
        adding((to, { usage }) => {
          usage({ model, inputTokens: 70, outputTokens: 20 });
          return to + 1;
        }),
      ]),
    )
    .addEdge(START, 'agent')
    .addEdge('agent', 'tools')
    .compile();
  const { execution } = await replicas.open({ graph, through });
  const { runId } = await start(execution, go);
  resultOf(await endOf(execution, runId));
  t.deepEqual(stepsIn(commits), [['agent', 'tools']]);
  const { checkpoints } = await replicas.threads.listCheckpoints(
    { owner, threadId: 't1', limit: 9, offset: 0 },
    call(),
  );
  t.deepEqual(
    checkpoints.filter(({ source }) => source === 'step').map(({ work }) => [work?.inputTokens, work?.outputTokens]),
    [
      [70, 20],
      [5, 1],
    ],
  );
  const { usageJson } = await replicas.threads.getRun({ owner, runId }, call());
  t.deepEqual(JSON.parse(usageJson ?? ''), [{ model, inputTokens: 75, outputTokens: 21 }]);
});
