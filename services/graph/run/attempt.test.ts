import { getActiveResourcesInfo } from 'node:process';
import test from 'ava';
import { textOf } from '@agent-workflow/protos/message';
import type { NodeContext } from '../build/context.ts';
import { isRunFailure, type RunFailure } from '../state/failure.ts';
import { field } from '../state/field.ts';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import type { NodePolicy } from '../build/policy.ts';
import { walk, type WalkOptions } from '../testing.ts';

const soon = { initialDelayMs: 1, maxDelayMs: 2 };
const never = (): Promise<undefined> => new Promise(() => undefined);

const fields = { done: field<number>({ type: 'integer', default: 0 }) };
type Node = (attempt: number, ctx: NodeContext) => Promise<{ done: number } | undefined> | { done: number } | undefined;

/** A graph of one node that gets the number of its attempt. */
function trying(node: Node, policy: NodePolicy): { readonly graph: CompiledGraph; readonly tries: () => number } {
  let tries = 0;
  const graph = new StateGraph(fields)
    .addNode('n', (_state, ctx) => node(++tries, ctx), policy)
    .addEdge(START, 'n')
    .compile();
  return { graph, tries: () => tries };
}

const failOf = async (graph: CompiledGraph, options?: WalkOptions): Promise<RunFailure> => {
  const error: unknown = await walk(graph, options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (isRunFailure(error)) return error;
  throw new Error('it did not fail as a run does', { cause: error });
};

test('a node that fails is tried again until it succeeds, and each restart is reported', async (t) => {
  const { graph, tries } = trying(
    (attempt) => {
      if (attempt < 3) throw new Error(`no tea ${attempt}`);
      return { done: attempt };
    },
    { retry: { maxAttempts: 5, ...soon } },
  );
  const reported: unknown[] = [];
  const { state } = await walk(graph, { onRestart: (...restart) => reported.push(restart) });
  t.is(state.values['done'], 3);
  t.is(tries(), 3);
  t.deepEqual(reported, [
    ['n', 2],
    ['n', 3],
  ]);
});

test('a node that fails every time fails its run with its last error', async (t) => {
  const { graph, tries } = trying(
    (attempt) => {
      throw new Error(`no tea ${attempt}`);
    },
    { retry: { maxAttempts: 3, ...soon } },
  );
  t.like(await failOf(graph), { code: 'NodeFailed', node: 'n', message: 'node "n" failed: no tea 3' });
  t.is(tries(), 3);
});

test('a node is not tried again after an error that retryOn refuses', async (t) => {
  const { graph, tries } = trying(
    (attempt) => {
      throw attempt === 1 ? new TypeError('a passing one') : new RangeError('a lasting one');
    },
    { retry: { maxAttempts: 9, ...soon, retryOn: (error) => error instanceof TypeError } },
  );
  t.is((await failOf(graph)).message, 'node "n" failed: a lasting one');
  t.is(tries(), 2);
});

test('a retryOn that gives a promise fails the node after its first attempt, whatever it says later', async (t) => {
  for (const given of [async () => Promise.resolve(false), () => Promise.reject(new Error('later'))]) {
    const retryOn = given as unknown as () => boolean;
    const { graph, tries } = trying(
      () => {
        throw new Error('paid already');
      },
      { retry: { maxAttempts: 9, ...soon, retryOn } },
    );
    const why = 'retry.retryOn gives a promise: it must return at once. The attempt failed with: paid already';
    t.is((await failOf(graph)).message, `node "n" failed: ${why}`);
    t.is(tries(), 1);
  }
});

test('a node that returns something invalid is not tried again', async (t) => {
  const { graph, tries } = trying(() => 'text' as never, { retry: { maxAttempts: 9, ...soon } });
  t.is((await failOf(graph)).message, 'node "n" returned no object of fields');
  t.is(tries(), 1);
});

test('what a failed attempt emitted is dropped, and the message of the next attempt has a new id', async (t) => {
  const { graph } = trying(
    (attempt, ctx) => {
      ctx.emit(`attempt ${attempt}`);
      if (attempt === 1) throw new Error('broken off');
      return undefined;
    },
    { retry: { maxAttempts: 2, ...soon } },
  );
  const ids: string[] = [];
  const { state } = await walk(graph, { onChunk: (_node, { messageId }) => ids.push(messageId) });
  t.is(new Set(ids).size, 2);
  t.deepEqual(
    state.context.map((message) => [message.message_id, textOf(message)]),
    [[ids[1], 'attempt 2']],
  );
});

test('a node that reaches its timeout fails, its signal fires, and what it emits later is dropped', async (t) => {
  let left: NodeContext | undefined;
  const { graph } = trying(
    (_attempt, ctx) => {
      left = ctx;
      return never();
    },
    { timeoutMs: 20 },
  );
  const reported: unknown[] = [];
  const failure = await failOf(graph, { onChunk: (_node, chunk) => reported.push(chunk) });
  t.like(failure, { code: 'NodeFailed', node: 'n', message: 'node "n" did not finish within 20 ms' });
  t.true(left?.signal.aborted);
  left?.emit('late');
  t.deepEqual(reported, []);
});

test('a timeout is the reason of the failure also when the node throws another error at its signal', async (t) => {
  const { graph } = trying(
    (_attempt, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped by my signal')));
      }),
    { timeoutMs: 20 },
  );
  t.is((await failOf(graph)).message, 'node "n" did not finish within 20 ms');
});

test('a node is tried again after a timeout, each attempt with a signal of its own', async (t) => {
  const signals: AbortSignal[] = [];
  const { graph } = trying(
    (attempt, ctx) => {
      signals.push(ctx.signal);
      return attempt === 1 ? never() : { done: 1 };
    },
    { timeoutMs: 20, retry: { maxAttempts: 2, ...soon } },
  );
  t.is((await walk(graph)).state.values['done'], 1);
  t.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
});

test('a stop ends the attempt, and no other follows', async (t) => {
  const controller = new AbortController();
  const { graph, tries } = trying(
    () => {
      setImmediate(() => controller.abort(new Error('stopped')));
      return never();
    },
    { timeoutMs: 3_600_000, retry: { maxAttempts: 2, ...soon } },
  );
  await t.throwsAsync(walk(graph, { run: { signal: controller.signal } }), { message: 'stopped' });
  t.is(tries(), 1);
});

test('a run that was stopped before its step runs no node of it', async (t) => {
  const { graph, tries } = trying(() => ({ done: 1 }), { timeoutMs: 1000 });
  await t.throwsAsync(walk(graph, { run: { signal: AbortSignal.abort(new Error('stopped')) } }), {
    message: 'stopped',
  });
  t.is(tries(), 0);
});

const timers = (): number => getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test.serial('a stop ends the wait between two attempts at once, and leaves no timer', async (t) => {
  const before = timers();
  const controller = new AbortController();
  const reason = new Error('stopped');
  const { graph, tries } = trying(
    () => {
      setImmediate(() => controller.abort(reason));
      throw new Error('no tea');
    },
    { retry: { maxAttempts: 2, initialDelayMs: 3_600_000, maxDelayMs: 3_600_000, jitter: false } },
  );
  t.is(await t.throwsAsync(walk(graph, { run: { signal: controller.signal } })), reason);
  t.is(tries(), 1);
  t.is(timers(), before);
});

test.serial('no timer outlives its node', async (t) => {
  const before = timers();
  const policy = { timeoutMs: 3_600_000, retry: { maxAttempts: 1 } };
  await walk(trying(() => ({ done: 1 }), policy).graph);
  await failOf(
    trying(() => {
      throw new Error('no tea');
    }, policy).graph,
  );
  t.is(timers(), before);
});

test('when a node fails, the signals of the other nodes of the step fire, and those are not tried again', async (t) => {
  let tries = 0;
  let inner: AbortSignal | undefined;
  const graph = new StateGraph({})
    .addNode(
      'slow',
      (_state, { signal }) => {
        tries++;
        inner = signal;
        return never();
      },
      { retry: { maxAttempts: 5, ...soon } },
    )
    .addNode('bad', () => {
      throw new Error('no tea');
    })
    .addEdge(START, 'slow')
    .addEdge(START, 'bad')
    .compile();
  t.is((await failOf(graph)).node, 'bad');
  t.true(inner?.aborted);
  t.is(tries, 1);
});
