import test, { type ExecutionContext } from 'ava';
import { registerAgents } from '@agent-workflow/execution/api/registration';
import { checkPoolName } from '@agent-workflow/execution/pool-name';
import { unnamedAgent } from '@agent-workflow/execution/record/agents';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { createLog } from '@agent-workflow/kit/log';
import { unavailable } from '@agent-workflow/kit/errors';
import { never } from '@agent-workflow/protos/call';
import type { AgentCalls } from '@agent-workflow/protos/threads';
import { openPoolGround, platformToken, tokenOf } from './pool-ground.ts';

const log = createLog('test', 'silent');
const graph = new StateGraph({})
  .addNode('only', () => ({}))
  .addEdge(START, 'only')
  .addEdge('only', END)
  .compile();
const agents = unnamedAgent(graph);

const check = async (pool: string, threads: Pick<AgentCalls, 'getRegisteredAgent'>, waitMs = 30_000): Promise<void> =>
  checkPoolName({ pool, agents, threads, log, signal: never, waitMs, unknownForMs: 1000 });

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

test('a token that the threads service comes to know is waited for', async (t) => {
  const { threadsAs } = await openGround(t);
  const [unknown, known] = [threadsAs('of nobody'), threadsAs(tokenOf('team'))];
  let attempts = 0;
  const getRegisteredAgent: AgentCalls['getRegisteredAgent'] = (request, call) =>
    (attempts++ === 0 ? unknown : known).getRegisteredAgent(request, call);
  await t.throwsAsync(check('other', { getRegisteredAgent }), mismatch('other', 'team'));
  t.true(attempts > 1);
});

test('a threads service that is away is waited for, and not for ever', async (t) => {
  const { threadsAs } = await openGround(t);
  const threads = threadsAs(tokenOf('team'));
  let attempts = 0;
  const getRegisteredAgent: AgentCalls['getRegisteredAgent'] = (request, call) =>
    attempts++ === 0 ? Promise.reject(unavailable('away')) : threads.getRegisteredAgent(request, call);
  await t.throwsAsync(check('other', { getRegisteredAgent }), mismatch('other', 'team'));
  await t.notThrowsAsync(check('other', { getRegisteredAgent: () => Promise.reject(unavailable('away')) }, 1));
});
