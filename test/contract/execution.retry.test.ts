import test from 'ava';
import {
  callsTools,
  END,
  field,
  interrupt,
  send,
  START,
  StateGraph,
  textOf,
  tool,
  toolNode,
  type CompiledGraph,
} from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { pause } from '@agent-workflow/kit/retry';
import type { Execution, StartReply } from '@agent-workflow/protos/execution';
import { call, endOf, fieldOf, followAll, logOf, owner, start } from './execution/calls.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type Replicas } from './replicas.ts';

const fields = {
  done: field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};

const retry = async (execution: Execution, runId: string, threadId = 't1'): Promise<StartReply> =>
  start(execution, { threadId, retryOf: runId, messages: [], multitaskStrategy: 'reject' });

interface Noting {
  readonly note: (name: string, key: string) => void;
}

/** The visits of nodes: their names, and their keys. */
class Visits implements Noting {
  readonly names: string[] = [];
  readonly keys = new Map<string, Set<string>>();
  readonly failing = new Set<string>();

  /** @throws Error while the name is among those that fail. */
  note(name: string, key: string): void {
    this.names.push(name);
    this.keys.set(name, (this.keys.get(name) ?? new Set()).add(key));
    if (this.failing.has(name)) throw new Error(`${name} fails`);
  }
}

/** Ten nodes, one after another. */
function chain(visits: Noting): CompiledGraph {
  const names = Array.from({ length: 10 }, (_, index) => `n${String(index)}`);
  let graph = new StateGraph(fields) as StateGraph<typeof fields>;
  for (const name of names)
    graph = graph.addNode(name, (_, { emit, idempotencyKey }) => {
      visits.note(name, idempotencyKey);
      emit(`did ${name}`);
      return { done: [name] };
    });
  for (const [index, name] of names.entries()) graph = graph.addEdge(names[index - 1] ?? START, name);
  return graph.addEdge('n9', END).compile();
}

const failedRun = async (execution: Execution, parts: Parameters<typeof start>[1] = {}): Promise<string> => {
  const { runId } = await start(execution, { threadId: 't1', ...parts });
  await endOf(execution, runId);
  return runId;
};

const statusOf = async ({ threads }: Pick<Replicas, 'threads'>, runId: string): Promise<string> =>
  (await threads.getRun({ owner, runId }, call())).status;

test('a run that failed in its eighth step is tried again from that step, under the same keys', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('n7');
  const { execution } = await replicas.open({ graph: chain(visits) });
  const runId = await failedRun(execution);
  t.is(await statusOf(replicas, runId), 'failed');
  visits.failing.clear();
  const again = await retry(execution, runId);
  t.is(resultOf(await endOf(execution, again.runId)).meta.status, 'completed');
  const names = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9'];
  t.deepEqual(visits.names, [...names.slice(0, 8), 'n7', 'n8', 'n9']);
  t.true([...visits.keys.values()].every(({ size }) => size === 1));
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), names);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['hi', ...names.map((name) => `did ${name}`)]);
  const run = await replicas.threads.getRun({ owner, runId: again.runId }, call());
  t.is(run.resumes, runId);
  const steps = (await followAll(execution, again.runId))
    .map(toChunk)
    .flatMap(({ event, data }) =>
      event === 'on_chain_stream' && (data as { status: string }).status === 'completed'
        ? [(data as { node: string }).node]
        : [],
    );
  t.deepEqual(steps, ['n7', 'n8', 'n9']);
});

test('a run that is tried again and fails again is tried again from there, and keeps its keys', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  for (const name of ['n0', 'n3', 'n9']) visits.failing.add(name);
  const { execution } = await replicas.open({ graph: chain(visits) });
  let runId = await failedRun(execution);
  for (const name of ['n0', 'n0', 'n3', 'n9']) {
    if (visits.names.filter((own) => own === name).length > 1 || name !== 'n0') visits.failing.delete(name);
    ({ runId } = await retry(execution, runId));
    await endOf(execution, runId);
  }
  t.is(await statusOf(replicas, runId), 'completed');
  t.deepEqual(visits.names, ['n0', 'n0', 'n0', 'n1', 'n2', 'n3', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9', 'n9']);
  t.true([...visits.keys.values()].every(({ size }) => size === 1));
  t.is((await logOf(replicas.threads, 't1')).length, 11);
});

test('what nodes had returned beside the one that failed is not made again', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('b');
  const both = Promise.withResolvers<undefined>();
  const graph = new StateGraph(fields)
    .addNode('a', (_, { emit, idempotencyKey }) => {
      visits.note('a', idempotencyKey);
      emit('did a');
      setImmediate(() => both.resolve(undefined));
      return { done: ['a'] };
    })
    .addNode('b', async (_, { emit, idempotencyKey }) => {
      await both.promise;
      visits.note('b', idempotencyKey);
      emit('did b');
      return { done: ['b'] };
    })
    .addNode('join', ({ done }, { emit }) => emit(done.join()))
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge(['a', 'b'], 'join')
    .addEdge('join', END)
    .compile();
  const { execution } = await replicas.open({ graph });
  const runId = await failedRun(execution);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['hi']);
  const second = await retry(execution, runId);
  await endOf(execution, second.runId);
  t.is(await statusOf(replicas, second.runId), 'failed');
  visits.failing.clear();
  const { runId: third } = await retry(execution, second.runId);
  t.is(resultOf(await endOf(execution, third)).meta.status, 'completed');
  t.deepEqual(visits.names, ['a', 'b', 'b', 'b']);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['hi', 'did a', 'did b', 'a,b']);
});

const count = 6;
const all = Array.from({ length: count }, (_, item) => `item ${String(item)}`);

/** A plan, a question to a person, and six branches one after another. */
const approved = (visits: Noting): CompiledGraph =>
  new StateGraph(fields)
    .addNode('plan', (_, { idempotencyKey }) => visits.note('plan', idempotencyKey))
    .addNode('ask', (_, { idempotencyKey }) => {
      const answer = interrupt('go on?');
      visits.note(`answered ${String(answer)}`, idempotencyKey);
    })
    .addNode(
      'work',
      (_, { input, idempotencyKey }) => {
        visits.note(String(input), idempotencyKey);
        return { done: [String(input)] };
      },
      { maxConcurrency: 1 },
    )
    .addEdge(START, 'plan')
    .addEdge('plan', 'ask')
    .addConditionalEdges('ask', () => all.map((item) => send('work', item)), ['work'])
    .addEdge('work', END)
    .compile();

test('branches that had returned behind an approval are not run again, nor is the approval asked again', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('item 4').add('answered yes');
  const { execution } = await replicas.open({ graph: approved(visits) });
  await failedRun(execution);
  let runId = await failedRun(execution, { messages: [], resumeJson: Buffer.from('"yes"') });
  t.deepEqual(visits.names, ['plan', 'answered yes']);
  for (const name of ['answered yes', 'item 4']) {
    t.is(await statusOf(replicas, runId), 'failed');
    visits.failing.delete(name);
    ({ runId } = await retry(execution, runId));
    await endOf(execution, runId);
  }
  t.is(await statusOf(replicas, runId), 'completed');
  const before = ['plan', 'answered yes', 'answered yes'];
  t.deepEqual(visits.names, [...before, ...all.slice(0, 5), ...all.slice(4)]);
  t.true([...visits.keys.values()].every(({ size }) => size === 1));
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), all);
});

/** A sub-graph in a sub-graph: a node, then branches one after the other beside a node, then a node. */
function nested(visits: Noting): CompiledGraph {
  const own = { ...fields, seen: field<number>({ type: 'integer', default: 0 }) };
  const inner = new StateGraph(own)
    .addNode('first', (_, { emit, idempotencyKey }) => {
      visits.note('first', idempotencyKey);
      emit('did first');
      return { done: ['first'], seen: 7 };
    })
    .addNode('beside', (_, { idempotencyKey }) => {
      visits.note('beside', idempotencyKey);
      return { done: ['beside'] };
    })
    .addNode(
      'work',
      async ({ seen, context }, { input, idempotencyKey, emit }) => {
        await pause(20);
        visits.note(String(input), idempotencyKey);
        emit(`did ${String(input)}`);
        return { done: [`${String(input)} of ${String(seen)} after ${context.map(textOf).join()}`] };
      },
      { maxConcurrency: 1 },
    )
    .addNode('last', (_, { idempotencyKey }) => {
      visits.note('last', idempotencyKey);
      return { done: ['last'] };
    })
    .addEdge(START, 'first')
    .addConditionalEdges('first', () => ['beside', ...all.slice(0, 4).map((item) => send('work', item))], [
      'beside',
      'work',
    ])
    .addEdge(['beside', 'work'], 'last')
    .addEdge('last', END)
    .compile();
  const middle = new StateGraph(fields)
    .addNode('before', (_, { idempotencyKey }) => {
      visits.note('before', idempotencyKey);
      return { done: ['before'] };
    })
    .addNode('inner', inner)
    .addEdge(START, 'before')
    .addEdge('before', 'inner')
    .addEdge('inner', END)
    .compile();
  return new StateGraph(fields).addNode('middle', middle).addEdge(START, 'middle').addEdge('middle', END).compile();
}

test('a sub-graph in which a branch failed goes on with its step: what had returned there is not made again', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('item 2').add('item 3').add('last');
  const { execution } = await replicas.open({ graph: nested(visits) });
  let runId = await failedRun(execution);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['hi']);
  for (const name of ['item 2', 'item 3', 'last']) {
    t.is(await statusOf(replicas, runId), 'failed');
    visits.failing.delete(name);
    ({ runId } = await retry(execution, runId));
    await endOf(execution, runId);
  }
  t.is(await statusOf(replicas, runId), 'completed');
  const items = all.slice(0, 4);
  t.deepEqual(visits.names, [
    'before',
    'first',
    'beside',
    ...items.slice(0, 3),
    'item 2',
    'item 3',
    'item 3',
    'last',
    'last',
  ]);
  t.true([...visits.keys.values()].every(({ size }) => size === 1));
  const done = items.map((item) => `${item} of 7 after hi,did first`);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['before', 'first', 'beside', ...done, 'last']);
  const texts = ['did first', ...items.map((item) => `did ${item}`)];
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['hi', ...texts]);
  const whole = (await followAll(execution, runId)).map(toChunk).flatMap(({ message }) => message ?? []);
  t.deepEqual(whole.map(textOf), texts);
});

test('a run that is tried again goes on where its worker died, and pays nothing again', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('item 2');
  const first = await replicas.open({ graph: approved(visits) });
  await failedRun(first.execution);
  const runId = await failedRun(first.execution, { messages: [], resumeJson: Buffer.from('"yes"') });
  await first.drain(0);
  visits.failing.clear();
  const begun = Promise.withResolvers<undefined>();
  const hanging = approved({
    note: (name: string, key: string) => {
      visits.note(name, key);
      if (name !== 'item 4') return;
      begun.resolve(undefined);
      throw new Error('the worker dies before it can say so');
    },
  });
  const second = await replicas.open({
    graph: hanging,
    through: ({ threads }) => ({
      threads: { ...threads, commitStep: () => new Promise<never>(() => undefined) },
    }),
  });
  const again = await retry(second.execution, runId);
  await begun.promise;
  second.kill();
  const third = await replicas.open({ graph: approved(visits) });
  t.is(resultOf(await endOf(third.execution, again.runId)).meta.status, 'completed');
  t.deepEqual(visits.names, [
    'plan',
    'answered yes',
    ...all.slice(0, 3),
    'item 2',
    'item 3',
    'item 4',
    'item 4',
    'item 5',
  ]);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), all);
});

test('a call that may be made once is not made again by a run that is tried again', async (t) => {
  await using replicas = await openReplicas();
  const calls: string[] = [];
  let fails = true;
  const pay = tool(
    { name: 'pay', description: 'Pays', parameters: { type: 'object', properties: {} }, replay: 'once' },
    (_args, { idempotencyKey }) => {
      calls.push(idempotencyKey);
      return 'paid';
    },
  );
  const done = Promise.withResolvers<undefined>();
  const graph = new StateGraph(fields)
    .addNode('agent', (state, ctx) => {
      if (callsTools(state)) return;
      const last = state.context.at(-1);
      if (last?.role === 'user') ctx.emit({ type: 'tool_call', id: 'c1', name: 'pay', args: {} });
      else ctx.emit('bye');
    })
    .addNode('tools', toolNode([pay]))
    .addNode('beside', async () => {
      await done.promise;
      if (fails) throw new Error('beside fails');
    })
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? ['tools', 'beside'] : END), ['tools', 'beside', END])
    .addEdge(['tools', 'beside'], 'agent')
    .compile();
  const { execution } = await replicas.open({
    graph,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        noteToolResult: async (...given) => {
          const reply = await threads.noteToolResult(...given);
          done.resolve(undefined);
          // The node that called the tool has not returned when the other one fails.
          if (fails) await new Promise(() => undefined);
          return reply;
        },
      },
    }),
  });
  const runId = await failedRun(execution);
  t.is(await statusOf(replicas, runId), 'failed');
  fails = false;
  const again = await retry(execution, runId);
  t.is(resultOf(await endOf(execution, again.runId)).meta.status, 'completed');
  t.is(calls.length, 1);
});

test('the initial state of a run that is tried again passes its reducers once', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('n0');
  const { execution } = await replicas.open({ graph: chain(visits) });
  const runId = await failedRun(execution, { initialStateJson: Buffer.from('{"done":["given"]}') });
  visits.failing.clear();
  const again = await retry(execution, runId);
  await endOf(execution, again.runId);
  t.deepEqual(((await fieldOf(replicas.threads, 't1', 'done')) as string[]).slice(0, 2), ['given', 'n0']);
});

test('a run that its workers could not survive is tried again from the step at which they died', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  const dying = Array.from({ length: 4 }, () => Promise.withResolvers<undefined>());
  const never = new Promise<never>(() => undefined);
  let runId = '';
  for (const [index, { promise, resolve }] of dying.entries()) {
    const graph = chain({
      note: (name: string, key: string) => {
        visits.note(name, key);
        if (name === 'n2') resolve(undefined);
      },
    });
    const { execution, kill } = await replicas.open({
      graph,
      through: ({ threads }) => ({
        threads: {
          ...threads,
          commitStep: (request, at) => (request.step < 2 ? threads.commitStep(request, at) : never),
        },
      }),
    });
    if (index === 0) ({ runId } = await start(execution, { threadId: 't1' }));
    await promise;
    kill();
  }
  const { execution } = await replicas.open({ graph: chain(visits) });
  await endOf(execution, runId);
  t.is(await statusOf(replicas, runId), 'failed');
  const again = await retry(execution, runId);
  t.is(resultOf(await endOf(execution, again.runId)).meta.status, 'completed');
  t.deepEqual(visits.names.slice(0, 2), ['n0', 'n1']);
  t.is(visits.names.filter((name) => name === 'n1').length, 1);
  t.deepEqual(((await fieldOf(replicas.threads, 't1', 'done')) as string[]).length, 10);
});

test('a run is not tried again that has not failed, that another has followed, or whose thread was changed since', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('n1');
  const { execution } = await replicas.open({ graph: chain(visits) });
  const refused = async (runId: string, text: RegExp, threadId?: string): Promise<void> => {
    const error = await t.throwsAsync(retry(execution, runId, threadId));
    t.regex(error.message, text);
    t.like(error, { code: 'Conflict' });
  };
  const failed = await failedRun(execution);
  const { version } = await replicas.threads.getState({ owner, threadId: 't1' }, call());
  t.true(version > 0);
  await replicas.threads.addMessages({ owner, threadId: 't1', messages: [user('by hand')] }, call());
  await refused(failed, /was changed since/);
  const later = await failedRun(execution);
  await refused(failed, /has a later run/);
  visits.failing.clear();
  const both = await Promise.allSettled([retry(execution, later), retry(execution, later)]);
  const [again, ...others] = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (!again) return t.fail();
  t.is(others.length, 0);
  await endOf(execution, again.runId);
  await refused(again.runId, /is completed: only a failed run can be tried again/);
  await t.throwsAsync(retry(execution, newId()), { message: /does not exist/ });
});

const day = 24 * 3_600_000;

test('a step with branches is tried again for five days after it failed first, by the clock of the record', async (t) => {
  let now = Date.now();
  await using replicas = await openReplicas({ now: () => now });
  const visits = new Visits();
  visits.failing.add('item 2');
  const { execution } = await replicas.open({ graph: approved(visits), now: () => now });
  await failedRun(execution);
  const first = await failedRun(execution, { messages: [], resumeJson: Buffer.from('"yes"') });
  now += 4 * day;
  const { runId: second } = await retry(execution, first);
  await endOf(execution, second);
  t.is(await statusOf(replicas, second), 'failed');
  now += day + 1;
  const late = await t.throwsAsync(retry(execution, second));
  t.regex(
    late.message,
    /it failed more than five days ago, and what its branches and calls have returned is kept no longer/,
  );
  t.like(late, { code: 'Conflict' });
  now -= 1;
  visits.failing.clear();
  const { runId: third } = await retry(execution, second);
  t.is(resultOf(await endOf(execution, third)).meta.status, 'completed');
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), all);
  t.deepEqual(visits.names, ['plan', 'answered yes', ...all.slice(0, 3), 'item 2', ...all.slice(2)]);
});

test('a step without branches and calls is tried again however long ago it failed', async (t) => {
  let now = Date.now();
  await using replicas = await openReplicas({ now: () => now });
  const visits = new Visits();
  visits.failing.add('n7');
  const { execution } = await replicas.open({ graph: chain(visits), now: () => now });
  const runId = await failedRun(execution);
  visits.failing.clear();
  now += 400 * day;
  const again = await retry(execution, runId);
  t.is(resultOf(await endOf(execution, again.runId)).meta.status, 'completed');
});

test('a sub-graph that is a branch in which a node failed begins anew under the same keys, and makes no call again that may be made once', async (t) => {
  await using replicas = await openReplicas();
  const visits = new Visits();
  visits.failing.add('last');
  const pay = tool(
    { name: 'pay', description: 'Pays', parameters: { type: 'object', properties: {} }, replay: 'once' },
    (_args, { idempotencyKey }) => {
      visits.note('paid', idempotencyKey);
      return 'paid';
    },
  );
  const inner = new StateGraph(fields)
    .addNode('first', (_, { emit, idempotencyKey }) => {
      visits.note('first', idempotencyKey);
      emit({ type: 'tool_call', id: 'c1', name: 'pay', args: {} });
    })
    .addNode('tools', toolNode([pay]))
    .addNode('work', (_, { input, idempotencyKey }) => {
      visits.note(String(input), idempotencyKey);
      return { done: [String(input)] };
    })
    .addNode('last', (_, { idempotencyKey }) => visits.note('last', idempotencyKey))
    .addEdge(START, 'first')
    .addEdge('first', 'tools')
    .addConditionalEdges('tools', () => all.map((item) => send('work', item)), ['work'])
    .addEdge('work', 'last')
    .addEdge('last', END)
    .compile();
  const graph = new StateGraph(fields)
    .addNode('inner', inner)
    .addConditionalEdges(START, () => [send('inner', 'only')], ['inner'])
    .addEdge('inner', END)
    .compile();
  const { execution } = await replicas.open({ graph });
  const runId = await failedRun(execution);
  t.deepEqual(visits.names, ['first', 'paid', ...all, 'last']);
  visits.failing.clear();
  const again = await retry(execution, runId);
  t.is(resultOf(await endOf(execution, again.runId)).meta.status, 'completed');
  t.deepEqual(visits.names, ['first', 'paid', ...all, 'last', 'first', ...all, 'last']);
  t.true([...visits.keys.values()].every(({ size }) => size === 1));
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), all);
});
