import { readdir, readFile } from 'node:fs/promises';
import test from 'ava';
import { callMetrics } from '@agent-workflow/runtime/calls';
import { healthMetrics } from '@agent-workflow/runtime/health';
import type { Metrics } from '@agent-workflow/runtime/metrics';
import { processMetrics } from '@agent-workflow/runtime/observe';
import { executionMetrics, natsMetrics } from '@agent-workflow/execution/metrics';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import { fileMetrics } from '@agent-workflow/gateway/files/metrics';
import { gatewayMetrics } from '@agent-workflow/gateway/metrics';
import { redisMetrics } from '@agent-workflow/gateway/redis/metrics';
import { memoryMetrics } from '@agent-workflow/memory/metrics';
import type { RunningProcess } from '@agent-workflow/runtime/process';
import { connect } from '@agent-workflow/protos/wire/connect';
import { within } from '@agent-workflow/protos/call';
import { openStandalone } from '@agent-workflow/standalone/standalone';
import { cassandraMetrics } from '@agent-workflow/threads/adapters/cassandra/metrics';
import { postgresMetrics } from '@agent-workflow/threads/adapters/postgres/metrics';
import { openThreadsProcess } from '@agent-workflow/threads/process';
import { manifestsOf } from '../chart/render.ts';
import { createClient, user } from '../servers/client.ts';
import { clusterAbsence, openGround } from '../servers/cluster-ground.ts';
import { makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

/** All metrics of ours, by the part that has them. */
const parts: Readonly<Record<string, Metrics>> = {
  all: { ...processMetrics, ...healthMetrics, ...callMetrics },
  gateway: { ...gatewayMetrics(endpoints), ...redisMetrics, ...fileMetrics },
  execution: { ...executionMetrics, ...natsMetrics },
  threads: {
    ...cassandraMetrics,
    postgresRequests: postgresMetrics.requests,
    postgresSeconds: postgresMetrics.seconds,
  },
  memory: memoryMetrics,
};
const namesOf = (metrics: Metrics): string[] => Object.values(metrics).map(({ name }) => name);
const known = Object.values(parts).flatMap(namesOf);

interface Scraped {
  readonly text: string;
  /** The value of a series, written as `name{label="value"}` with labels in the order of their definition; 0 when it is not there. */
  readonly value: (series: string) => number;
  readonly names: readonly string[];
}

async function scrape(url: string): Promise<Scraped> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = new Map(
    text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line.split(' ').at(-1)]),
  );
  return {
    text,
    value: (series) => Number(values.get(series) ?? 0),
    names: [...text.matchAll(/^# TYPE (agent_workflow_\w+) /gm)].map(([, name = '']) => name),
  };
}

const metricsAt = ({ startLines }: Pick<RunningProcess, 'startLines'>): string =>
  / are at (\S+)\/metrics$/.exec(startLines.find((line) => line.startsWith('metrics ')) ?? '')?.[1] ?? '';

const measured = { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent' };

interface Measured extends AsyncDisposable {
  readonly url: string;
  readonly metrics: string;
}

async function openMeasured(agent: string, env: Readonly<Record<string, string>> = {}): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await makeWorkspace(agent));
  const service = opened.use(await openStandalone({ ...workspace.env, DATA_DIR: ':memory:', ...measured, ...env }));
  const everything = opened.move();
  return { url: service.url, metrics: metricsAt(service), [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

test('while everyone is let in, metrics are shown to this machine alone unless the operator says otherwise', async (t) => {
  await using service = await openMeasured('remembering', { METRICS_HOST: '' });
  t.is(new URL(service.metrics).hostname, '127.0.0.1');
});

test('the live workers of a registered revision are counted, also while they drive nothing', async (t) => {
  await using service = await openMeasured('remembering', { AGENT_REVISION: 'v1' });
  const series = 'agent_workflow_revision_workers{agent="default",revision="v1"}';
  await until(async () => (await scrape(service.metrics)).value(series) === 1);
  t.is((await scrape(service.metrics)).value(series), 1);
});

test('each run, request, step and search is counted once, under names that are the table’s', async (t) => {
  await using service = await openMeasured('remembering');
  const { send, stream } = createClient(service.url);
  const threadId = 'a-thread-with-a-name-of-its-own';
  const config = { thread_id: threadId };
  t.is((await send('POST', '/v1/graph/invoke', { messages: [user('hello')], config })).status, 200);
  for await (const { event } of stream({ messages: [user('hello')], config })) t.truthy(event);
  await send('GET', '/v1/nowhere');
  await send('GET', `/v1/threads/${threadId}`);
  await send('POST', '/v1/store/search', { query: 'what was said', retrieval_strategy: 'temporal' });
  const { text, value, names } = await scrape(service.metrics);

  const expected: Record<string, number> = {
    agent_workflow_ready: 1,
    'agent_workflow_runs_accepted_total{agent="default"}': 2,
    'agent_workflow_runs_ended_total{status="completed"}': 2,
    agent_workflow_run_wait_seconds_count: 2,
    agent_workflow_run_seconds_count: 2,
    agent_workflow_runs_driving: 0,
    agent_workflow_run_slots: 128,
    agent_workflow_steps_committed_total: 6,
    'agent_workflow_node_seconds_count{agent="default",node="keep"}': 4,
    'agent_workflow_tool_seconds_count{agent="default",tool="look"}': 2,
    agent_workflow_lease_held: 1,
    agent_workflow_followers: 0,
    agent_workflow_http_streams_open: 0,
    agent_workflow_http_stream_seconds_count: 1,
    'agent_workflow_http_requests_total{route="invokeGraph",method="POST",status="200"}': 1,
    'agent_workflow_http_requests_total{route="none",method="GET",status="404"}': 1,
    'agent_workflow_http_request_seconds_count{route="invokeGraph",class="2xx"}': 1,
    'agent_workflow_calls_total{method="threads.acceptRun",code="ok"}': 2,
    'agent_workflow_calls_total{method="memory.store",code="ok"}': 2,
    'agent_workflow_call_seconds_count{method="threads.commitStep"}': 6,
    'agent_workflow_memory_search_seconds_count{strategy="similarity"}': 2,
    'agent_workflow_memory_search_seconds_count{strategy="temporal"}': 1,
    'agent_workflow_embedder_calls_total{outcome="ok"}': 5,
  };
  t.deepEqual(Object.fromEntries(Object.keys(expected).map((series) => [series, value(series)])), expected);
  t.true(value('agent_workflow_events_appended_total') > 10);
  t.deepEqual(names.toSorted(), known.filter((name) => !/redis|cassandra|postgres|nats/.test(name)).toSorted());
  for (const id of [threadId, 'anon', 'hello']) t.false(text.includes(id), id);
  t.notRegex(text, /[0-9a-f]{8}-[0-9a-f]{4}-7/, 'an id stands in a label');
});

test('refusals, failures and stops are told apart, each run once', async (t) => {
  await using service = await openMeasured('obedient', {
    RATE_LIMIT_REQUESTS: '6',
    RATE_LIMIT_WINDOW_SECONDS: '3600',
    MAX_STREAMS_PER_PRINCIPAL: '1',
  });
  const { send } = createClient(service.url);
  t.is((await send('POST', '/v1/graph/invoke', { messages: [user('fail')] })).status, 500);
  t.is(
    (await send('POST', '/v1/graph/invoke', { messages: [user('call nothing')], tools: [{ name: 'nothing' }] })).status,
    200,
  );
  t.is((await send('POST', '/v1/graph/invoke', { messages: [] })).status, 422);
  for (let asked = 0; asked < 3; asked++) await send('GET', '/v1/ping');
  t.is((await send('GET', '/v1/ping')).status, 429);
  const { value } = await scrape(service.metrics);
  t.is(value('agent_workflow_runs_ended_total{status="failed"}'), 1);
  t.is(value('agent_workflow_runs_ended_total{status="interrupted"}'), 1);
  t.is(value('agent_workflow_runs_ended_total{status="completed"}'), 0);
  t.is(value('agent_workflow_node_failures_total{agent="default",node="obey"}'), 1);
  t.is(value('agent_workflow_rate_limited_total{limit="requests"}'), 1);
  t.is(value('agent_workflow_http_requests_total{route="invokeGraph",method="POST",status="422"}'), 1);
});

test('tokens are counted by model once their step is committed, those of a step that fails its run with its end', async (t) => {
  await using service = await openMeasured('reporting');
  const { send } = createClient(service.url);
  for (const text of ['hello', 'fail']) await send('POST', '/v1/graph/invoke', { messages: [user(text)] });
  const { value } = await scrape(service.metrics);
  const tokens = (model: string, type: string): number =>
    value(`agent_workflow_model_tokens_total{model="${model}",type="${type}"}`);
  t.deepEqual(
    ['large', 'small'].map((model) => [tokens(model, 'input'), tokens(model, 'output')]),
    [
      [240, 24],
      [10, 2],
    ],
  );
  const answers = (model: string, reason: string): number =>
    value(`agent_workflow_model_answers_total{model="${model}",finish_reason="${reason}"}`);
  t.deepEqual([answers('large', 'stop'), answers('small', 'length')], [2, 2]);
});

test('a question that a node asks is no failure of it', async (t) => {
  await using service = await openMeasured('asking');
  const { send } = createClient(service.url);
  const asked = await send('POST', '/v1/graph/invoke', { messages: [user('ask')] });
  t.is((asked.body.data as { meta: { status: string } }).meta.status, 'interrupted');
  const { text, value } = await scrape(service.metrics);
  t.is(value('agent_workflow_runs_ended_total{status="interrupted"}'), 1);
  t.notRegex(text, /agent_workflow_(node|tool)_failures_total\{/);
});

test('the port tells probes whether the process lives and serves, and nobody anything else', async (t) => {
  await using service = await openMeasured('echo');
  const statusOf = async (path: string, method = 'GET'): Promise<number> =>
    (await fetch(`${service.metrics}${path}`, { method })).status;
  t.is(await statusOf('/livez'), 200);
  t.is(await statusOf('/readyz'), 200);
  t.is(await statusOf('/metrics', 'POST'), 405);
  t.is(await statusOf('/v1/ping'), 404);
});

test('unless a port is set nothing listens, and nothing is said of it', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await openStandalone({
    ...workspace.env,
    DATA_DIR: ':memory:',
    PORT: '0',
    LOG_LEVEL: 'silent',
  });
  t.is(metricsAt(service), '');
});

test('the table of the documents has every metric as it is in the code, and no other', async (t) => {
  const table = await readFile(new URL('../../deploy/observability.md', import.meta.url), 'utf8');
  const written = [...table.matchAll(/^\| `agent_workflow_.*$/gm)].map(([row]) => row).toSorted();
  const rows = Object.entries(parts).flatMap(([part, metrics]) =>
    Object.values(metrics).map(({ name, kind, labels, help }) => {
      const shown = Object.keys(labels)
        .map((label) => `\`${label}\``)
        .join(', ');
      return `| \`${name}\` | ${kind} | ${shown} | ${part} | ${help} |`;
    }),
  );
  t.deepEqual(written, rows.toSorted());
});

test('names follow the convention, and labels have bounds', (t) => {
  for (const { name, kind, labels } of Object.values(parts).flatMap((metrics) => Object.values(metrics))) {
    t.regex(name, /^agent_workflow_[a-z_]+$/);
    t.is(name.endsWith('_total'), kind === 'counter', name);
    if (kind === 'histogram') t.regex(name, /_seconds$/);
    for (const [label, bound] of Object.entries(labels)) {
      t.false(/owner|user|thread|run|request/.test(label), `${name} ${label}`);
      t.true((typeof bound === 'number' ? bound : bound.length) <= 200, `${name} ${label}`);
    }
  }
  t.is(new Set(known).size, known.length);
});

test('the dashboard asks for metrics that there are', async (t) => {
  const text = await readFile(new URL('../../deploy/dashboards/agent-workflow.json', import.meta.url), 'utf8');
  const asked = new Set([...text.matchAll(/agent_workflow_[a-z_]+/g)].map(([name]) => name));
  const there = new Set(known.flatMap((name) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]));
  t.deepEqual(
    [...asked].filter((name) => !there.has(name)),
    [],
  );
  const shown = (name: string): boolean => [...asked].some((each) => each === name || each.startsWith(`${name}_`));
  t.deepEqual(
    known.filter((name) => !shown(name)),
    [],
  );
});

/** `name{label="value", …}` in an expression of Prometheus. */
const selector = /\b(agent_workflow_[a-z_]+)\{([^}]*)\}/g;
const matcher = /(\w+)(=~?)"([^"]*)"/g;
/** What a ServiceMonitor puts on every series. */
const ofTarget = new Set(['namespace', 'service']);

/** What an expression asks for that the code does not have: a metric, a label, or a value of a label. */
function unknownIn(expression: string): string[] {
  const metrics = Object.values(parts).flatMap((part) => Object.values(part));
  const names = [...expression.matchAll(/\bagent_workflow_[a-z_]+/g)].map(([name]) => name);
  const strange = names.filter((name) => !known.includes(name));
  for (const [, name = '', matchers = ''] of expression.matchAll(selector)) {
    const labels: Metrics[string]['labels'] = metrics.find((metric) => metric.name === name)?.labels ?? {};
    for (const [, label = '', operator, value = ''] of matchers.matchAll(matcher)) {
      if (ofTarget.has(label)) continue;
      const bound = labels[label];
      const wanted = operator === '=' ? [value] : value.split('|');
      const isThere = (one: string): boolean => typeof bound === 'number' || bound?.includes(one) === true;
      if (!wanted.every(isThere)) strange.push(`${name}{${label}=${value}}`);
    }
  }
  return strange;
}

test('the alerts of the charts ask for metrics, labels and values that there are, and each part’s of its own', async (t) => {
  const golden = new URL('../chart/golden/', import.meta.url);
  const rules = (await readdir(golden)).map(async (file) => {
    const rendered = manifestsOf(await readFile(new URL(file, golden), 'utf8'));
    return rendered.filter(({ kind }) => kind === 'PrometheusRule');
  });
  const asked = new Set<string>();
  for (const { metadata, spec } of (await Promise.all(rules)).flat()) {
    const chart = /^demo-([a-z]+)/.exec(metadata.name)?.[1] ?? '';
    // A pool of workers is processes of the execution service.
    const part = chart === 'agent' ? 'execution' : chart;
    const own = part === 'standalone' ? known : namesOf({ ...parts['all'], ...parts[part] });
    for (const { alert, expr } of (spec as Rules).groups.flatMap((group) => group.rules)) {
      t.deepEqual(unknownIn(expr), [], alert);
      for (const [, name = ''] of expr.matchAll(selector)) {
        t.true(own.includes(name), `${metadata.name}: ${alert} asks for ${name}, which another part has`);
        asked.add(name);
      }
    }
  }
  t.true(asked.size >= 10, [...asked].join(', '));
});

test('an alert on a metric, a label or a value that there is not would be found', (t) => {
  t.deepEqual(unknownIn('rate(agent_workflow_nothing_total{namespace="a"}[5m])'), ['agent_workflow_nothing_total']);
  t.deepEqual(unknownIn('agent_workflow_runs_ended_total{namespace="a", state="failed"}'), [
    'agent_workflow_runs_ended_total{state=failed}',
  ]);
  t.deepEqual(unknownIn('agent_workflow_runs_ended_total{status=~"failed|broken"}'), [
    'agent_workflow_runs_ended_total{status=failed|broken}',
  ]);
});

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const absence = clusterAbsence();
(absence === undefined ? test : test.skip)(
  `the threads service counts what it asks of Cassandra and whom it does not let in, and is ready while it serves${absence === undefined ? '' : ` (${absence})`}`,
  async (t) => {
    await using ground = await openGround();
    const env = { GRPC_HOST: '127.0.0.1', GRPC_PORT: '0', SERVICE_TOKEN: 'known', DRAIN_SECONDS: '1' };
    const opened = await openThreadsProcess(
      { ...ground.env, ...measured, ...env },
      AbortSignal.timeout(byLoad(30_000)),
    );
    const address = / listens on (\S+)$/.exec(opened.startLines.at(-1) ?? '')?.[1] ?? '';
    const url = metricsAt(opened);
    const owner = 'u:ada';
    await using threads = connect('threads', address, { token: 'known' });
    await using unauthenticated = connect('threads', address);
    await t.throwsAsync(threads.getThread({ owner, threadId: 'none' }, within(byLoad(5000))), { code: 'NotFound' });
    await t.throwsAsync(unauthenticated.getThread({ owner, threadId: 'none' }, within(byLoad(5000))), {
      code: 'Unavailable',
    });
    t.is((await fetch(`${url}/readyz`)).status, 200);
    const { value } = await scrape(url);
    t.is(value('agent_workflow_calls_total{method="threads.getThread",code="NotFound"}'), 1);
    t.is(value('agent_workflow_strangers_total'), 1);
    t.true(value('agent_workflow_cassandra_statements_total{kind="read",outcome="ok"}') >= 1);
    t.is(
      value('agent_workflow_cassandra_statement_seconds_count{kind="read"}'),
      value('agent_workflow_cassandra_statements_total{kind="read",outcome="ok"}'),
    );
    await opened[Symbol.asyncDispose]();
    await t.throwsAsync(fetch(`${url}/metrics`));
  },
);
