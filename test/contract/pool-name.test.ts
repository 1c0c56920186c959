import test, { type ExecutionContext } from 'ava';
import { registerAgents } from '@agent-workflow/execution/api/registration';
import { checkPoolName } from '@agent-workflow/execution/pool-name';
import { unnamedAgent } from '@agent-workflow/execution/record/agents';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { createLog } from '@agent-workflow/kit/log';
import { unavailable } from '@agent-workflow/kit/errors';
import { never } from '@agent-workflow/protos/call';
import type { AgentCalls } from '@agent-workflow/protos/threads';
import { byLoad } from '../by-load.ts';
import { openPoolGround, platformToken, tokenOf } from './pool-ground.ts';

const graph = new StateGraph({})
  .addNode('only', () => ({}))
  .addEdge(START, 'only')
  .addEdge('only', END)
  .compile();
const agents = unnamedAgent(graph);

interface Waits {
  readonly waitMs?: number;
  readonly unknownForMs?: number;
}

const check = async (
  pool: string,
  threads: Pick<AgentCalls, 'getRegisteredAgent'>,
  { waitMs = 30_000, unknownForMs = 1000, warnings = [] }: Waits & { readonly warnings?: unknown[] } = {},
): Promise<void> =>
  checkPoolName({
    ...{ pool, agents, threads, signal: never, waitMs, unknownForMs },
    log: Object.assign(createLog('test', 'silent'), { warn: (warning: unknown) => void warnings.push(warning) }),
  });

const openGround = async (t: ExecutionContext) => {
  const ground = await openPoolGround({ pools: { team: ['default'], other: ['other'] } });
  t.teardown(() => ground[Symbol.asyncDispose]());
  return { ground, threadsAs: (token: string) => ground.as('threads', token) };
};

const mismatch = (pool: string, found: string) => ({
  name: 'ConfigError',
  message: `POOL is "${pool}", and SERVICE_TOKEN is the token of the pool "${found}"`,
});

test('a worker whose token is of another pool than its setting names does not start', async (t) => {
  const { ground, threadsAs } = await openGround(t);
  await t.notThrowsAsync(check('team', threadsAs(tokenOf('team'))));
  await t.throwsAsync(check('other', threadsAs(tokenOf('team'))), mismatch('other', 'team'), 'not registered yet');
  await t.throwsAsync(
    check('team', threadsAs(tokenOf('other'))),
    mismatch('team', 'other'),
    'an agent of another pool',
  );

  await registerAgents({ ...agents, revision: 'v1' }, ground.as('threads', platformToken), 'auto');
  await t.notThrowsAsync(check('team', threadsAs(tokenOf('team'))));
  await t.throwsAsync(check('other', threadsAs(tokenOf('team'))), mismatch('other', 'team'), 'registered');
});

test('a token that the threads service does not know stops the start, that of the platform does not', async (t) => {
  const { threadsAs } = await openGround(t);
  await t.throwsAsync(check('team', threadsAs('of nobody')), { name: 'ConfigError', message: /SERVICE_TOKEN/ });
  await t.notThrowsAsync(check('team', threadsAs(platformToken)));
});

test('a worker of a pool with the token of the platform is warned of what that allows, one with the token of its pool is not', async (t) => {
  const { ground, threadsAs } = await openGround(t);
  const warnings: unknown[] = [];
  const checkBoth = async (): Promise<void> => {
    await check('team', threadsAs(platformToken), { warnings });
    await check('team', threadsAs(tokenOf('team')), { warnings });
  };
  await checkBoth();
  await registerAgents({ ...agents, revision: 'v1' }, ground.as('threads', platformToken), 'auto');
  await checkBoth();
  const warning =
    'POOL is "team", and SERVICE_TOKEN is the token of no pool: the threads service lets this worker do what processes of the platform may';
  t.deepEqual(warnings, [warning, warning]);
});

test('a token that the threads service comes to know is waited for', async (t) => {
  const { threadsAs } = await openGround(t);
  const [unknown, known] = [threadsAs('of nobody'), threadsAs(tokenOf('team'))];
  let attempts = 0;
  const getRegisteredAgent: AgentCalls['getRegisteredAgent'] = (request, call) =>
    (attempts++ === 0 ? unknown : known).getRegisteredAgent(request, call);
  // On a busy machine the first attempt alone takes longer than the others here wait for a token.
  const unknownForMs = byLoad(30_000);
  await t.throwsAsync(check('other', { getRegisteredAgent }, { unknownForMs }), mismatch('other', 'team'));
  t.true(attempts > 1);
});

test('a threads service that is unavailable is waited for, and not for ever', async (t) => {
  const { threadsAs } = await openGround(t);
  const threads = threadsAs(tokenOf('team'));
  let attempts = 0;
  const getRegisteredAgent: AgentCalls['getRegisteredAgent'] = (request, call) =>
    attempts++ === 0 ? Promise.reject(unavailable('away')) : threads.getRegisteredAgent(request, call);
  await t.throwsAsync(check('other', { getRegisteredAgent }), mismatch('other', 'team'));
  await t.notThrowsAsync(
    check('other', { getRegisteredAgent: () => Promise.reject(unavailable('away')) }, { waitMs: 1 }),
  );
});
