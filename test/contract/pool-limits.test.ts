import test, { type ExecutionContext } from 'ava';
import { registerFrom } from '@agent-workflow/execution/register';
import { isServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { RegisteredAgent, Threads } from '@agent-workflow/protos/threads';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { bytes } from './thread-calls.ts';
import { openPoolGround, platformToken, threadsWith, tokenOf } from './pool-ground.ts';

const pools = { billing: ['billing'], support: ['support'] };
const callMs = 30_000;
/** A larger request is a call of its own, in place of one of a stream. */
const ownCallBytes = 100 * 1024;

const limitedCode = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (isServiceError(error) ? error.code : 'other'),
  );

type GroundOptions = Omit<Parameters<typeof openPoolGround>[0], 'pools'>;

const openGround = async (t: ExecutionContext, options: GroundOptions) => {
  const ground = await openPoolGround({ pools, ...options });
  t.teardown(() => ground[Symbol.asyncDispose]());
  const as = (pool: string): Threads => ground.as('threads', tokenOf(pool));
  return { ground, as, platform: ground.as('threads', platformToken) };
};

const registered: RegisteredAgent = { agent: 'support', routing: { version: 1 }, revisions: [] };

test('a pool that floods a process gets no more than its rate, and the calls of another pool and of the platform go on', async (t) => {
  const callsPerSecond = 200;
  let floods = 0;
  const threads = threadsWith({
    getRegisteredAgent: ({ agent }) => {
      if (agent === 'support') floods += 1;
      return Promise.resolve(registered);
    },
  });
  const { as, platform, ground } = await openGround(t, { bounds: { callsPerSecond }, services: { threads } });
  const [support, billing] = [as('support'), as('billing')];
  const codes = new Set<string>();
  let isOver = false;
  const flood = async (): Promise<void> => {
    while (!isOver) codes.add(await limitedCode(support.getRegisteredAgent({ agent: 'support' }, within(callMs))));
  };
  const since = performance.now();
  const flooding = Array.from({ length: 100 }, flood);
  await until(() => ground.limited.length > 0);
  for (let call = 0; call < 100; call++) {
    t.is(await limitedCode(billing.getRegisteredAgent({ agent: 'billing' }, within(callMs))), 'ok');
    t.is(await limitedCode(platform.getRegisteredAgent({ agent: 'default' }, within(callMs))), 'ok');
  }
  isOver = true;
  await Promise.all(flooding);
  const seconds = (performance.now() - since) / 1000;
  t.true(floods <= callsPerSecond * (seconds + 1) + 1, `${String(floods)} calls in ${String(seconds)} s`);
  t.deepEqual([...codes].toSorted(), ['RateLimited', 'ok']);
  t.deepEqual([...new Set(ground.limited.map(({ pool, bound }) => `${pool} ${bound}`))], ['support callsPerSecond']);
});

test('a call of a pool counts until its work has ended, also when its caller has left', async (t) => {
  const working = Promise.withResolvers<undefined>();
  let begun = 0;
  const threads = threadsWith({
    getRegisteredAgent: async () => {
      begun += 1;
      await working.promise;
      return registered;
    },
  });
  const { as, platform } = await openGround(t, { bounds: { calls: 2 }, services: { threads } });
  const support = as('support');
  const call = (signal?: AbortSignal): Promise<string> =>
    limitedCode(support.getRegisteredAgent({ agent: 'support' }, within(callMs, signal)));
  const leaving = new AbortController();
  const left = [call(leaving.signal), call(leaving.signal)];
  await until(() => begun === 2);
  leaving.abort();
  t.deepEqual(await Promise.all(left), ['Cancelled', 'Cancelled']);
  t.is(await call(), 'RateLimited');
  const ofPlatform = limitedCode(platform.getRegisteredAgent({ agent: 'support' }, within(callMs)));
  await until(() => begun === 3);
  working.resolve(undefined);
  t.is(await ofPlatform, 'ok');
  await until(async () => (await call()) === 'ok');
});

test('a large request of a pool, which is a call of its own, is held to the bounds too', async (t) => {
  const working = Promise.withResolvers<undefined>();
  const threads = threadsWith({ registerRevision: () => working.promise.then(() => registered) });
  const { as, ground } = await openGround(t, { bounds: { bytes: ownCallBytes * 1.5 }, services: { threads } });
  const support = as('support');
  const call = (size: number): Promise<string> => {
    const definition = { graphJson: bytes(JSON.stringify({ text: 'x'.repeat(size) })), fieldsJson: bytes('{}') };
    const codeFields = { reduced: [], checked: [] };
    const request = { agent: 'support', revision: 'v1', schemaHash: 'none' };
    const whole = { ...request, definition: { ...definition, toolsJson: bytes('[]'), nodes: [], codeFields } };
    return limitedCode(support.registerRevision(whole, within(callMs)));
  };
  const large = [call(ownCallBytes), call(ownCallBytes)];
  t.is(await Promise.race(large), 'RateLimited');
  const small = call(10);
  working.resolve(undefined);
  t.is(await small, 'ok');
  t.deepEqual((await Promise.all(large)).toSorted(), ['RateLimited', 'ok']);
  t.is(await call(ownCallBytes), 'ok');
  t.deepEqual(ground.limited, [{ pool: 'support', bound: 'bytes' }]);
});

test('of the calls of a pool 64 are worked on at once, the others are answered in their turn', async (t) => {
  const working = Promise.withResolvers<undefined>();
  let begun = 0;
  const threads = threadsWith({
    getRegisteredAgent: async ({ agent }) => {
      if (agent === 'support') {
        begun += 1;
        await working.promise;
      }
      return registered;
    },
  });
  const { as, platform, ground } = await openGround(t, { services: { threads } });
  const support = as('support');
  const calls = Array.from({ length: 400 }, () =>
    limitedCode(support.getRegisteredAgent({ agent: 'support' }, within(callMs))),
  );
  await until(() => begun === 64);
  t.is(await limitedCode(platform.getRegisteredAgent({ agent: 'default' }, within(callMs))), 'ok');
  t.is(begun, 64);
  working.resolve(undefined);
  t.deepEqual([...new Set(await Promise.all(calls))], ['ok']);
  t.is(begun, 400);
  t.deepEqual(ground.limited, []);
});

/** For how long this thread has worked: on a busy machine that is less than the time that goes by. */
const workedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

test('a call of the platform is answered after a few of the calls of a pool that block the process', async (t) => {
  const [blockMs, calls, callsBefore] = [5, 500, 150];
  let begun = 0;
  const reached = Promise.withResolvers<number>();
  const threads = threadsWith({
    getRegisteredAgent: ({ agent }) => {
      if (agent !== 'support') return Promise.resolve(registered);
      begun += 1;
      if (begun === callsBefore) reached.resolve(ofPlatform().then(() => begun));
      const end = workedMs() + blockMs;
      while (workedMs() < end);
      return Promise.resolve(registered);
    },
  });
  const { as, platform } = await openGround(t, { services: { threads } });
  const ofPlatform = (): Promise<RegisteredAgent> => platform.getRegisteredAgent({ agent: 'default' }, within(callMs));
  const support = as('support');
  await ofPlatform();
  const flood = Array.from({ length: calls }, () =>
    limitedCode(support.getRegisteredAgent({ agent: 'support' }, within(callMs))),
  );
  const begunThen = await reached.promise;
  t.true(begunThen - callsBefore <= 60, `${String(begunThen - callsBefore)} calls of the pool stood before it`);
  t.deepEqual([...new Set(await Promise.all(flood))], ['ok']);
});

test('a registration goes on while the workers of its pool call too often', async (t) => {
  const { ground, as } = await openGround(t, { bounds: { callsPerSecond: 1 } });
  const support = as('support');
  const call = (): Promise<string> => limitedCode(support.getRegisteredAgent({ agent: 'support' }, within(callMs)));
  await until(async () => (await call()) === 'RateLimited');
  await using workspace = await makeWorkspace(null, { agent: undefined, agents: { support: agentAt('working') } });
  const { SERVICE_CONFIG = '' } = workspace.env;
  const place = { THREADS_ADDRESS: ground.address, SERVICE_CONFIG, AGENT_REVISION: 'v1' };
  t.is((await registerFrom({ ...place, SERVICE_TOKEN: tokenOf('support') }, 'auto')).length, 1);
});
