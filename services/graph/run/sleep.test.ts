import test from 'ava';
import fc from 'fast-check';
import type { NodeContext, ToolContext } from '../build/context.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { END, START } from '../build/names.ts';
import { send } from '../build/send.ts';
import { tool, toolNode } from '../build/tool.ts';
import { field } from '../state/field.ts';
import { walk, type Walked, type WalkOptions } from '../testing.ts';
import { interrupt } from './interrupt.ts';

const fields = {
  done: field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
type Work = (ctx: NodeContext) => Promise<string | undefined>;

const hour = 3_600_000;
const zero = Date.UTC(2030, 0, 1);

/** One node that does this work and adds what it returns. */
const one = (work: Work): CompiledGraph =>
  new StateGraph(fields)
    .addNode('n', async (_state, ctx) => {
      const done = await work(ctx);
      return done === undefined ? {} : { done: [done] };
    })
    .addEdge(START, 'n')
    .compile();

const stopping: WalkOptions = { time: zero, stopsAsleep: true };
/** The walk after a sleep, with the clock at its end. */
const wake = (graph: CompiledGraph, from: Walked, options: WalkOptions = {}): Promise<Walked> =>
  walk(graph, { stopsAsleep: true, from, time: from.wakeAt ?? NaN, ...options });

test('a node that sleeps begins again when its sleep has ended', async (t) => {
  const passed: string[] = [];
  const graph = one(async (ctx) => {
    passed.push('before');
    ctx.emit('dropped');
    await ctx.sleep(hour);
    passed.push('after');
    return 'slept';
  });
  const asleep = await walk(graph, stopping);
  t.like(asleep, { waiting: false, wakeAt: zero + hour, next: ['n'], interrupts: [] });
  t.deepEqual(asleep.state.context, []);
  const early = await wake(graph, asleep, { time: zero + hour - 1 });
  t.like(early, { wakeAt: zero + hour, steps: [[]] });
  t.deepEqual(passed, ['before']);
  const done = await wake(graph, early);
  t.like(done, { next: [], time: zero + hour, continuation: undefined });
  t.deepEqual(done.state.values['done'], ['slept']);
  t.deepEqual(passed, ['before', 'before', 'after']);
});

test('a walk passes over sleeps unless it is told to stop', async (t) => {
  const graph = one(async ({ sleep, waitUntil }) => {
    await sleep(hour);
    await waitUntil(new Date(zero + 3 * hour));
    await sleep(0.4);
    return 'awake';
  });
  const { state, time } = await walk(graph, { time: zero });
  t.deepEqual([state.values['done'], time], [['awake'], zero + 3 * hour + 1]);
});

test('sleeps are matched by their order, and a time that has passed is reached at once', async (t) => {
  const seen: number[] = [];
  let run = 0;
  const graph = one(async ({ sleep, waitUntil }) => {
    run++;
    await waitUntil(new Date(0));
    await sleep(0);
    await sleep(10);
    seen.push(run);
    await sleep(20);
    return 'done';
  });
  const first = await walk(graph, stopping);
  t.is(first.wakeAt, zero + 10);
  const second = await wake(graph, first);
  t.is(second.wakeAt, zero + 30);
  t.deepEqual((await wake(graph, second)).state.values['done'], ['done']);
  t.deepEqual(seen, [2, 3]);
});

test('a sleep is over when the length asked now has passed since it began: a longer one sleeps the rest, a shorter one ends', async (t) => {
  const lengths = [10, 25, 30, 7];
  const graph = one(async ({ sleep }) => {
    await sleep(lengths.shift() ?? 0);
    return 'done';
  });
  const first = await walk(graph, stopping);
  t.is(first.wakeAt, zero + 10);
  const second = await wake(graph, first);
  t.is(second.wakeAt, zero + 25);
  const third = await wake(graph, second);
  t.is(third.wakeAt, zero + 30);
  const done = await wake(graph, third);
  t.deepEqual([done.state.values['done'], done.time], [['done'], zero + 30]);
});

test('a sleep that is asked for in the place of another counts from when that place first slept, also until a time', async (t) => {
  let runs = 0;
  const graph = one(async ({ sleep, waitUntil }) => {
    if (++runs === 1) await sleep(10);
    else await waitUntil(new Date(zero + 40));
    return 'done';
  });
  const first = await walk(graph, stopping);
  const second = await wake(graph, first);
  t.is(second.wakeAt, zero + 40);
  t.is((await wake(graph, second)).time, zero + 40);
});

test('sleeps that begin together run side by side', async (t) => {
  const graph = one(async ({ sleep }) => {
    await Promise.all([sleep(hour), sleep(2 * hour)]);
    return 'both';
  });
  const first = await walk(graph, stopping);
  t.is(first.wakeAt, zero + hour);
  const second = await wake(graph, first);
  t.is(second.wakeAt, zero + 2 * hour);
  t.deepEqual((await wake(graph, second)).state.values['done'], ['both']);
});

test('a node keeps its idempotency key while it sleeps', async (t) => {
  const keys = new Set<string>();
  const graph = one(async ({ sleep, idempotencyKey }) => {
    keys.add(idempotencyKey);
    await sleep(1);
    await sleep(1);
    return 'done';
  });
  await walk(graph, { time: zero });
  t.deepEqual([...keys], ['run/1/n']);
});

test('a node in a sub-graph keeps its idempotency key while it sleeps', async (t) => {
  const keys: string[] = [];
  const inner = new StateGraph(fields)
    .addNode('first', () => ({ done: ['first'] }))
    .addNode('sleeper', async (_state, { sleep, idempotencyKey }) => {
      keys.push(idempotencyKey);
      await sleep(hour);
      return { done: ['slept'] };
    })
    .addEdge(START, 'first')
    .addEdge('first', 'sleeper')
    .compile();
  const graph = new StateGraph(fields)
    .addNode('sub', inner)
    .addNode('after', () => ({ done: ['after'] }))
    .addEdge(START, 'sub')
    .addEdge('sub', 'after')
    .compile();
  const asleep = await walk(graph, stopping);
  t.like(asleep, { wakeAt: zero + hour, next: ['sub'], waiting: false });
  const done = await wake(graph, asleep);
  t.deepEqual(done.state.values['done'], ['first', 'slept', 'after']);
  t.deepEqual(keys, ['run/1/sub/2/sleeper', 'run/1/sub/2/sleeper']);
});

test('a step lasts until its last node has slept: what the others gave is merged then, and none is begun again before its time', async (t) => {
  let begun = 0;
  const graph = new StateGraph(fields)
    .addNode('sleeper', async (_state, { sleep }) => {
      begun++;
      await sleep(hour);
      return { done: ['slept'] };
    })
    .addNode('a', () => ({ done: ['a'] }))
    .addNode('b', () => ({ done: ['b'] }))
    .addNode('both', () => ({ done: ['both'] }))
    .addEdge(START, 'sleeper')
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge(['sleeper', 'b'], 'both')
    .compile();
  const asleep = await walk(graph, stopping);
  t.deepEqual(asleep.steps, [['sleeper', 'a']]);
  t.deepEqual(asleep.state.values['done'], []);
  t.like(asleep, { wakeAt: zero + hour, next: ['sleeper'] });
  t.is(begun, 1);
  const done = await wake(graph, asleep);
  t.deepEqual(done.steps, [['sleeper'], ['b'], ['both']]);
  t.deepEqual(done.state.values['done'], ['slept', 'a', 'b', 'both']);
});

test('branches of a fan-out sleep each for itself, and each that has ended is not run again', async (t) => {
  const begun: unknown[] = [];
  const graph = new StateGraph(fields)
    .addNode('work', async (_state, { input, sleep }) => {
      begun.push(input);
      await sleep(Number(input) * hour);
      return { done: [`slept ${String(input)}`] };
    })
    .addNode('join', () => ({ done: ['join'] }))
    .addConditionalEdges(START, () => [2, 0, 1].map((hours) => send('work', hours)), ['work'])
    .addEdge('work', 'join')
    .compile();
  const first = await walk(graph, stopping);
  t.like(first, { wakeAt: zero + hour, next: ['work'] });
  t.deepEqual(first.state.values['done'], []);
  const second = await wake(graph, first);
  t.is(second.wakeAt, zero + 2 * hour);
  const done = await wake(graph, second);
  t.deepEqual(done.state.values['done'], ['slept 2', 'slept 0', 'slept 1', 'join']);
  t.deepEqual(begun, [2, 0, 1, 1, 2]);
});

test('a tool sleeps in its call, and the other calls are made once', async (t) => {
  const calls: string[] = [];
  const parameters = { type: 'object' };
  const napping = tool(
    { name: 'nap', description: 'Naps', parameters },
    async (_args, { sleep, idempotencyKey }: ToolContext) => {
      calls.push(`nap ${idempotencyKey}`);
      await sleep(hour);
      return 'rested';
    },
  );
  const quick = tool({ name: 'quick', description: 'Quick', parameters }, () => {
    calls.push('quick');
    return 'ok';
  });
  const call = (id: string, name: string): object => ({ type: 'tool_call', id, name, args: {} });
  const graph = new StateGraph({})
    .addNode('calls', () => ({ messages: [{ content: [call('1', 'nap'), call('2', 'quick')] as never }] }))
    .addNode('tools', toolNode([napping, quick]))
    .addEdge(START, 'calls')
    .addEdge('calls', 'tools')
    .addEdge('tools', END)
    .compile();
  const asleep = await walk(graph, stopping);
  t.like(asleep, { wakeAt: zero + hour, next: ['tools'], waiting: false });
  const done = await wake(graph, asleep);
  t.deepEqual(done.next, []);
  t.deepEqual(calls, ['nap run/2/1', 'quick', 'nap run/2/1']);
});

test('a question is asked at once while another node sleeps, and the sleep goes on with the answer', async (t) => {
  const graph = new StateGraph(fields)
    .addNode('sleeper', async (_state, { sleep }) => {
      await sleep(hour);
      return { done: ['slept'] };
    })
    .addNode('asks', () => ({ done: [String(interrupt('?'))] }))
    .addEdge(START, 'sleeper')
    .addEdge(START, 'asks')
    .compile();
  const asked = await walk(graph, stopping);
  t.like(asked, { waiting: true, wakeAt: undefined });
  const [question] = asked.interrupts;
  const answered = await walk(graph, { ...stopping, from: asked, answers: { [question?.id ?? '']: 'yes' } });
  t.like(answered, { waiting: false, wakeAt: zero + hour, next: ['sleeper'] });
  t.deepEqual((await wake(graph, answered)).state.values['done'], ['slept', 'yes']);
});

test('a node may sleep, ask and sleep again', async (t) => {
  const graph = one(async ({ sleep }) => {
    await sleep(1);
    const answer = interrupt('?');
    await sleep(2);
    return String(answer);
  });
  const asked = await walk(graph, { time: zero });
  t.like(asked, { waiting: true, time: zero + 1 });
  const [question] = asked.interrupts;
  const done = await walk(graph, { from: asked, answers: { [question?.id ?? '']: 'yes' } });
  t.deepEqual([done.state.values['done'], done.time], [['yes'], zero + 3]);
});

test('a node whose policy has retries and a timeout sleeps longer than the timeout', async (t) => {
  const graph = new StateGraph(fields)
    .addNode(
      'n',
      async (_state, { sleep }) => {
        await sleep(hour);
        return { done: ['slept'] };
      },
      { retry: { maxAttempts: 3 }, timeoutMs: 1000 },
    )
    .addEdge(START, 'n')
    .compile();
  t.deepEqual((await walk(graph, { time: zero })).state.values['done'], ['slept']);
});

test('a node that does not await its sleep, or catches it, sleeps all the same', async (t) => {
  const careless = one(({ sleep }) => {
    void sleep(hour);
    return Promise.resolve('too early');
  });
  const asleep = await walk(careless, stopping);
  t.deepEqual([asleep.wakeAt, asleep.state.values['done']], [zero + hour, []]);
  const catching = one(({ sleep }) =>
    sleep(hour).then(
      () => 'slept',
      () => 'caught',
    ),
  );
  t.deepEqual((await walk(catching, { time: zero })).state.values['done'], ['slept']);
});

test('what is no time fails the node with a sentence about it', async (t) => {
  for (const ms of [-1, NaN, Infinity, 4e11, '5' as never])
    await t.throwsAsync(walk(one(async ({ sleep }) => sleep(ms).then(() => undefined))), {
      message: 'node "n" failed: sleep() takes milliseconds, at most ten years ahead',
    });
  for (const date of [
    new Date(NaN),
    new Date('9999-01-01'),
    'tomorrow' as never,
    undefined as never,
    5 as never,
    null as never,
  ])
    await t.throwsAsync(walk(one(async ({ waitUntil }) => waitUntil(date).then(() => undefined))), {
      message: 'node "n" failed: waitUntil() takes a Date, at most ten years ahead',
    });
});

test('a sleep outside a node that runs is refused', async (t) => {
  let left: NodeContext | undefined;
  await walk(
    one((ctx) => {
      left = ctx;
      return Promise.resolve(undefined);
    }),
  );
  await t.throwsAsync(async () => left?.sleep(1), { message: 'sleep() was called outside a node or tool that runs' });
});

test('however nodes sleep, each is begun once more for each of its sleeps that takes time, and time is their longest sum', async (t) => {
  const list = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(list, { minLength: 1, maxLength: 4 }), async (nodes) => {
      const begun = nodes.map(() => 0);
      const builder = new StateGraph<typeof fields>(fields);
      nodes.forEach((sleeps, index) => {
        const name = `n${String(index)}`;
        builder.addNode(name, async (_state, { sleep }) => {
          begun[index] = (begun[index] ?? 0) + 1;
          for (const ms of sleeps) await sleep(ms);
          return { done: [name] };
        });
        builder.addEdge(START, name);
      });
      const { time, state } = await walk(builder.compile(), { time: zero, maxSteps: 1000 });
      const sums = nodes.map((sleeps) => sleeps.reduce((sum, ms) => sum + ms, 0));
      t.is(time, zero + Math.max(...sums));
      t.deepEqual(
        begun,
        nodes.map((sleeps) => sleeps.length + 1),
      );
      t.is((state.values['done'] as string[]).length, nodes.length);
    }),
    { numRuns: 50 },
  );
});
