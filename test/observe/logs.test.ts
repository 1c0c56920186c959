import test from 'ava';
import { ServiceError } from '@agent-workflow/kit/errors';
import { requestContexts, requestContext, type RequestContext } from '@agent-workflow/kit/request-context';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import { connect } from '@agent-workflow/protos/wire/connect';
import { serve } from '@agent-workflow/protos/wire/serve';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';

type Line = Readonly<Record<string, unknown>>;

const traceId = 'c0ffee00'.repeat(4);
const headers = { 'x-request-id': 'asked-by-ada', traceparent: `00-${traceId}-00000000000000aa-01` };

test('each line of a request’s work names the request, its run, its thread and its trace', async (t) => {
  await using workspace = await makeWorkspace('obedient');
  await using service = await startStandalone({ ...workspace.env, LOG_LEVEL: 'debug' });
  const { send } = createClient(service.url);
  const config = { thread_id: 'on-this-thread' };
  const failed = await send('POST', '/v1/graph/invoke', { messages: [user('fail')], config }, headers);
  t.is(failed.status, 500);
  await send('GET', '/v1/ping');
  t.is(await service.stop('SIGTERM'), 0);

  const lines = service.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
  const of = (msg: string): Line[] => lines.filter((line) => line['msg'] === msg);
  const [run] = of('a run failed');
  t.like(run, {
    ...{ service: 'standalone', request_id: 'asked-by-ada', thread_id: 'on-this-thread', trace_id: traceId },
    ...{ code: 'NodeFailed', node: 'obey' },
  });
  t.regex(String(run?.['run_id']), /^[0-9a-f-]{36}$/);
  t.false('runId' in (run ?? {}));
  const [request, ping] = of('request');
  t.like(request, { request_id: 'asked-by-ada', trace_id: traceId, path: '/v1/graph/invoke', status: 500 });
  t.like(ping, { path: '/v1/ping', status: 200 });
  t.false('trace_id' in (ping ?? {}) || 'run_id' in (ping ?? {}));
  t.false('request_id' in (of('configured')[0] ?? {}));
});

const fail = (): Promise<never> => Promise.reject(new ServiceError('Internal', 'for the log'));
const memory: Memory = { store: fail, search: fail, get: fail, list: fail, update: fail, delete: fail, forget: fail };

test('a failure in another service is logged there with the ids of the request and of its caller', async (t) => {
  const contexts: RequestContext[] = [];
  const onFailure = (): void => void contexts.push(requestContext());
  await using server = await serve({ memory }, { host: '127.0.0.1', port: 0, drainMs: 100, onFailure });
  await using client = connect('memory', server.address);
  const own = { requestId: 'asked by ada', runId: 'rún/1', traceparent: headers.traceparent };
  const request = { owner: 'u:ada', memoryId: 'm', threadId: 'held' };
  await requestContexts.run(own, () => t.throwsAsync(client.get(request, within(byLoad(5000))), { code: 'Internal' }));
  await t.throwsAsync(client.get({ owner: 'u:ada', memoryId: 'm' }, within(byLoad(5000))), { code: 'Internal' });
  t.deepEqual(contexts, [own, {}]);
});
