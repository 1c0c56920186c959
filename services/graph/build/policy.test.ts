import test from 'ava';
import { RunFailure } from '../state/failure.ts';
import { START } from './names.ts';
import { StateGraph } from './graph.ts';
import { tool } from './tool.ts';
import { checkPolicy, mayRetry, NodeTimeout, toBackoff, type NodePolicy } from './policy.ts';

test('waits grow from half a second to thirty by doubling, and each is drawn at random from 0 up to that', (t) => {
  t.deepEqual(toBackoff({ maxAttempts: 9 }), { firstMs: 500, maxMs: 30_000, factor: 2, jitter: 1 });
  const own = { maxAttempts: 9, initialDelayMs: 100, maxDelayMs: 1000, factor: 3, jitter: false };
  t.deepEqual(toBackoff(own), { firstMs: 100, maxMs: 1000, factor: 3, jitter: 0 });
});

test('a fault that the engine finds is never tried again, even with a retryOn that allows it', (t) => {
  const always = { maxAttempts: 2, retryOn: () => true };
  t.false(mayRetry(always, new RunFailure('NodeFailed', 'returned no object')));
  t.false(mayRetry(always, new RunFailure('GraphFailed', 'no such node', { cause: new Error() })));
  t.true(mayRetry(always, new RunFailure('NodeFailed', 'failed inside', { cause: new Error() })));
});

test('retryOn gets the error that was thrown, also inside a sub-graph', (t) => {
  const asked: unknown[] = [];
  const retry = { maxAttempts: 2, retryOn: (error: unknown) => asked.push(error) > 3 };
  const thrown = new TypeError('no tea');
  const late = new NodeTimeout(5);
  t.false(mayRetry(retry, thrown));
  t.false(mayRetry(retry, new RunFailure('NodeFailed', 'inner', { cause: thrown })));
  t.false(mayRetry(retry, late));
  t.true(mayRetry(retry, 'a text'));
  t.deepEqual(asked, [thrown, thrown, late, 'a text']);
  t.is(late.name, 'TimeoutError');
});

for (const [policy, fault] of [
  [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts of node "n" is 0: it must be a whole number from 1 to '],
  [{ retry: { maxAttempts: 1.5 } }, 'retry.maxAttempts of node "n" is 1.5: it must be a whole number'],
  [{ retry: { maxAttempts: 2, initialDelayMs: -1 } }, 'retry.initialDelayMs of node "n" is -1: it must be a number'],
  [{ retry: { maxAttempts: 2, maxDelayMs: Number.NaN } }, 'retry.maxDelayMs of node "n" is NaN'],
  [{ retry: { maxAttempts: 2, factor: 0.5 } }, 'retry.factor of node "n" is 0.5: it must be a number from 1 to'],
  [{ timeoutMs: 0 }, 'timeoutMs of node "n" is 0: it must be a number from 1 to 2147483647'],
  [{ timeoutMs: 2 ** 31 }, 'timeoutMs of node "n" is 2147483648'],
  [{ recursionLimit: 1001 }, 'recursionLimit of node "n" is 1001: it must be a whole number from 1 to 1000'],
] as const satisfies readonly (readonly [NodePolicy, string])[]) {
  test(`a node under ${JSON.stringify(policy)} is refused`, (t) => {
    const error = t.throws(() => new StateGraph({}).addNode('n', () => undefined, policy));
    t.true(error.message.startsWith(fault), error.message);
  });
}

for (const [policy, fault] of [
  [{ timeout: 5 }, 'the policy of node "n" has timeout, which is none of retry, timeoutMs,'],
  [{ retry: { maxAttempts: 2, delay: 5 } }, 'the policy of node "n" has retry.delay, which is none of maxAttempts,'],
  [{ retry: {} }, 'retry of node "n" has no maxAttempts'],
  [{ timeoutMs: '5' }, 'timeoutMs of node "n" is "5": it must be a number'],
  [{ retry: { maxAttempts: 2, retryOn: ['TimeoutError'] } }, 'retry.retryOn of node "n" must be a function, not array'],
] as const)
  test(`a node of plain JavaScript under ${JSON.stringify(policy)} is refused`, (t) => {
    const error = t.throws(() => checkPolicy('n', policy as never));
    t.true(error.message.startsWith(fault), error.message);
  });

test('a tool whose replay is none of the words is refused', (t) => {
  const declared = { name: 'pay', description: '', parameters: {}, replay: 'Once' as 'once' };
  t.throws(() => tool(declared, () => undefined), {
    message: 'replay of tool "pay" is Once: it must be safe or once or pure',
  });
});

test('a policy at its bounds is accepted', (t) => {
  const retry = { maxAttempts: 1, initialDelayMs: 0, maxDelayMs: 2 ** 31 - 1, factor: 1 };
  t.notThrows(() => checkPolicy('n', { retry, timeoutMs: 2 ** 31 - 1, recursionLimit: 1000 }));
  t.is(
    new StateGraph({})
      .addNode('n', () => undefined)
      .addEdge(START, 'n')
      .compile().policies.size,
    0,
  );
});
