import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { clusterAbsence } from '../servers/cluster-ground.ts';
import { openClusterHere } from '../servers/cluster-here.ts';
import { openCollector } from '../servers/collector.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { holdsNoContents, isOneTraceOfAll, only, pathOf, streamRun } from './trace.ts';
import { byLoad } from '../by-load.ts';

test('in one process, one trace goes from the caller to the node, its tool, its memory and its commits', async (t) => {
  await using collector = await openCollector();
  const service = await openEmbedded('remembering', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const { traceId, caller, runId, threadId } = await streamRun(service.url);
  await service[Symbol.asyncDispose]();

  const spans = collector.spans().filter((span) => span.traceId === traceId);
  const edge = 'POST /v1/graph/stream';
  const run = ['run', 'execution.start', edge, caller];
  t.deepEqual(pathOf(spans, only(t, spans, 'threads.acceptRun')), [
    'threads.acceptRun',
    'execution.start',
    edge,
    caller,
  ]);
  t.deepEqual(pathOf(spans, only(t, spans, 'execution.follow')), ['execution.follow', edge, caller]);
  t.deepEqual(pathOf(spans, only(t, spans, 'memory.store')), ['memory.store', 'node keep', ...run]);
  t.deepEqual(pathOf(spans, only(t, spans, 'memory.search')), ['memory.search', 'tool look', ...run]);
  t.deepEqual(pathOf(spans, only(t, spans, 'threads.commitStep')), ['threads.commitStep', ...run]);
  const { attributes } = only(t, spans, 'node keep');
  t.like(attributes, {
    'agent_workflow.request_id': `asked-${traceId}`,
    'agent_workflow.run_id': runId,
    'agent_workflow.thread_id': threadId,
    'agent_workflow.node': 'keep',
  });
  holdsNoContents(t, collector);
});

test('what nobody asked for is in no trace: sweeps, probes, work of the process itself', async (t) => {
  await using collector = await openCollector();
  const service = await openEmbedded('remembering', {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    LEASE_MS: '500',
  });
  const { send } = createClient(service.url);
  await send('GET', '/healthz');
  await send('GET', '/v1/ping');
  await service[Symbol.asyncDispose]();
  t.deepEqual(
    collector.spans().map(({ name, parentSpanId }) => [name, parentSpanId]),
    [['GET /v1/ping', undefined]],
  );
});

test('a ticket stands in no span, nor does any query', async (t) => {
  await using collector = await openCollector();
  const service = await openEmbedded('remembering', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const { send } = createClient(service.url);
  const accepted = await send('POST', '/v1/runs', { messages: [user('hello')] });
  const { run_id: runId } = accepted.body.data as { run_id: string };
  const { ticket } = (await send('POST', `/v1/runs/${runId}/ticket`)).body.data as { ticket: string };
  const followed = await fetch(`${service.url}/v1/runs/${runId}/stream?ticket=${ticket}`);
  t.is(followed.status, 200);
  await followed.text();
  await fetch(`${service.url}/v1/threads?search=looked-for`).then((reply) => reply.text());
  await service[Symbol.asyncDispose]();

  t.true(collector.spans().some(({ name }) => name === 'GET /v1/runs/{run_id}/stream'));
  for (const text of [ticket, 'ticket=', 'looked-for']) t.false(collector.bodies().join('\n').includes(text), text);
});

test('a run that fails is an error in its trace, by its code and not its words', async (t) => {
  await using collector = await openCollector();
  const service = await openEmbedded('obedient', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const { traceId } = await streamRun(service.url, { messages: [user('fail')] });
  await service[Symbol.asyncDispose]();
  const spans = collector.spans().filter((span) => span.traceId === traceId);
  const { isError, attributes } = only(t, spans, 'node obey');
  t.true(isError);
  t.is(attributes['error.type'], 'NodeFailed');
  t.false(collector.bodies().join('\n').includes('told to'));
});

test('the span of a node has the tokens that it reported, and names the model when it was one', async (t) => {
  await using collector = await openCollector();
  const service = await openEmbedded('reporting', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const { traceId } = await streamRun(service.url);
  await service[Symbol.asyncDispose]();
  const spans = collector.spans().filter((span) => span.traceId === traceId);
  const tokensOf = (name: string): unknown[] =>
    ['request.model', 'usage.input_tokens', 'usage.output_tokens'].map(
      (attribute) => only(t, spans, name).attributes[`gen_ai.${attribute}`],
    );
  t.deepEqual(tokensOf('node ask'), ['large', 100, 10]);
  t.deepEqual(tokensOf('node check'), [undefined, 25, 3]);
  t.deepEqual(only(t, spans, 'node check').attributes['gen_ai.response.finish_reasons'], ['stop', 'length']);
});

test('a caller that wants no trace gets none, and its request goes on as ever', async (t) => {
  await using collector = await openCollector();
  const service = await openEmbedded('remembering', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-00`;
  const reply = await createClient(service.url).send(
    'POST',
    '/v1/graph/invoke',
    { messages: [user('x')] },
    { traceparent },
  );
  t.is(reply.status, 200);
  await service[Symbol.asyncDispose]();
  t.deepEqual(collector.spans(), []);
});

test('a collector that is unavailable holds up neither requests nor the end of the process', async (t) => {
  const collector = await openCollector();
  await collector[Symbol.asyncDispose]();
  const service = await openEmbedded('remembering', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const { send } = createClient(service.url);
  t.is((await send('POST', '/v1/graph/invoke', { messages: [user('x')] })).status, 200);
  const start = performance.now();
  await service[Symbol.asyncDispose]();
  t.true(performance.now() - start < byLoad(10_000));
});

test('an endpoint that is no address stops the start', async (t) => {
  const opening = openEmbedded('remembering', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' });
  await t.throwsAsync(opening, { message: /OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https address/ });
});

test('a run that a dead process left goes on in the trace of the request that started it', async (t) => {
  await using collector = await openCollector();
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  const env = { ...workspace.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  const killed = await startStandalone(env);
  const headers = { traceparent: `00-${'c3'.repeat(16)}-${'d4'.repeat(8)}-01` };
  const body = { messages: [user('go')], config: { gate: gate.url } };
  const accepted = await createClient(killed.url).send('POST', '/v1/runs', body, headers);
  const { run_id: runId } = accepted.body.data as { run_id: string };
  await gate.visited(1);
  await killed.stop('SIGKILL');
  const before = collector.spans().length;

  gate.open();
  const again = await startStandalone(env);
  t.is((await createClient(again.url).send('GET', `/v1/runs/${runId}/wait`)).status, 200);
  t.is(await again.stop('SIGTERM'), 0);
  const { traceId, attributes } = only(t, collector.spans().slice(before), 'node after');
  t.is(traceId, 'c3'.repeat(16));
  t.is(attributes['agent_workflow.run_id'], runId);
});

test('a run that waited in the queue is claimed and driven in the trace of its own request', async (t) => {
  await using collector = await openCollector();
  await using gate = await openGate();
  const service = await openEmbedded('gated', {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    RUN_CONCURRENCY: '1',
  });
  const { send } = createClient(service.url);
  const config = { gate: gate.url };
  const start = async (digits: string): Promise<string> => {
    const headers = { traceparent: `00-${digits.repeat(16)}-${'e5'.repeat(8)}-01` };
    const accepted = await send('POST', '/v1/runs', { messages: [user('go')], config }, headers);
    return (accepted.body.data as { run_id: string }).run_id;
  };
  await start('1a');
  await gate.visited(1);
  const waiting = await start('2b');
  gate.open();
  t.is((await send('GET', `/v1/runs/${waiting}/wait`)).status, 200);
  await service[Symbol.asyncDispose]();
  const spans = collector.spans().filter((span) => span.traceId === '2b'.repeat(16));
  for (const name of ['threads.claimRun', 'run', 'node before', 'node after'])
    t.is(only(t, spans, name).attributes['agent_workflow.run_id'], waiting, name);
});

const absence = clusterAbsence();
(absence === undefined ? test : test.skip)(
  `in a cluster whose processes live in this one, the same trace is in the spans of all four${absence === undefined ? '' : ` (${absence})`}`,
  async (t) => {
    await using collector = await openCollector();
    const service = await openClusterHere('remembering', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    const traced = await streamRun(service.url);
    await service[Symbol.asyncDispose]();
    isOneTraceOfAll(t, collector, traced);
  },
);
