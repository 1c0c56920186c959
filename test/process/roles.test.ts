import test from 'ava';
import { openExecutionProcess } from '@agent-workflow/execution/process';
import { ConfigError } from '@agent-workflow/kit/env';
import { makeWorkspace } from '../servers/standalone.ts';

/** Nothing listens there. */
const nowhere = '127.0.0.1:1';

/** Why a process of this role does not start where no server is. */
async function refusalOf(
  role: string,
  service: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  await using workspace = await makeWorkspace(null, service);
  const env = {
    ...{ ...workspace.env, ROLE: role, LOG_LEVEL: 'silent', GRPC_HOST: '127.0.0.1', GRPC_PORT: '0' },
    ...{ SERVICE_TOKEN: 'known', NATS_URL: `nats://${nowhere}` },
    ...{ THREADS_ADDRESS: nowhere, MEMORY_ADDRESS: nowhere, DRAIN_SECONDS: '0' },
    ...given,
  };
  return await openExecutionProcess(env, AbortSignal.timeout(2000)).then(
    () => undefined,
    (error: unknown) => error,
  );
}

test('a default agent without agents stops a process that drives runs, and not one that serves what is registered', async (t) => {
  const service = { agent: null, default_agent: 'support' };
  for (const role of ['worker', 'all']) {
    const refusal = await refusalOf(role, service);
    t.true(refusal instanceof ConfigError);
    t.is(String(refusal), 'ConfigError: service.json: default_agent names one of agents, and there are none');
  }
  // It comes as far as its servers.
  t.false((await refusalOf('api', service)) instanceof ConfigError);
  t.true((await refusalOf('api', { agent: null, default_agent: 'No Name' })) instanceof ConfigError);
});

test('only a worker may have a NATS user of a pool: the other roles manage the streams', async (t) => {
  for (const role of ['api', 'all']) {
    const refusal = await refusalOf(role, { agent: null }, { NATS_ACCESS: 'pool' });
    t.is(String(refusal), `ConfigError: NATS_ACCESS=pool is for ROLE=worker, not for ROLE=${role}`);
  }
});
