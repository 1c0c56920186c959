import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { createClient, user } from '../servers/client.ts';
import type { Collector, SpanSent } from '../servers/collector.ts';

const secrets = { said: 'said-but-never-told', key: 'key-never-told' };

/** One streamed request with a trace of its caller's, which holds what no span may tell. */
export async function streamRun(url: string, more: Readonly<Record<string, unknown>> = {}): Promise<Traced> {
  const traceId = randomBytes(16).toString('hex');
  const caller = randomBytes(8).toString('hex');
  const headers = { traceparent: `00-${traceId}-${caller}-01`, 'x-request-id': `asked-${traceId}` };
  const config = { api_key: secrets.key };
  let threadId = '';
  let runId = '';
  const { stream } = createClient(url);
  for await (const { event, data } of stream({ messages: [user(secrets.said)], config, ...more }, headers)) {
    if (event === 'metadata') ({ thread_id: threadId, run_id: runId } = data);
  }
  return { traceId, caller, threadId, runId };
}

/** What a streamed request was, and the trace that its caller says it is in. */
interface Traced {
  readonly traceId: string;
  readonly caller: string;
  readonly threadId: string;
  readonly runId: string;
}

/** The path of spans from one up to the caller: names, the innermost first. */
export function pathOf(spans: readonly SpanSent[], from: SpanSent): string[] {
  const above = spans.find(({ spanId }) => spanId === from.parentSpanId);
  return [from.name, ...(above ? pathOf(spans, above) : [from.parentSpanId ?? 'nobody'])];
}

/** The first span of this name, which must be there. */
export const only = (t: ExecutionContext, spans: readonly SpanSent[], name: string, service?: string): SpanSent => {
  const found = spans.filter((span) => span.name === name && (service === undefined || span.service === service));
  t.true(
    found.length > 0,
    `no span ${name} of ${service ?? 'anyone'} among ${spans.map((span) => span.name).join(', ')}`,
  );
  return found[0] as SpanSent;
};

/** Checks that nothing of what was said, of keys, or of owners was sent to the collector. */
export function holdsNoContents(t: ExecutionContext, { bodies }: Collector): void {
  const all = bodies().join('\n');
  for (const text of [...Object.values(secrets), 'this was said', 'It is there', 'u:ada'])
    t.false(all.includes(text), text);
}

/** Checks that one request to the agent `remembering` is one trace in the spans of all four services of a cluster. */
export function isOneTraceOfAll(t: ExecutionContext, collector: Collector, { traceId, caller }: Traced): void {
  const spans = collector.spans().filter((span) => span.traceId === traceId);
  t.deepEqual([...new Set(spans.map((span) => span.service))].toSorted(), [
    'agent-workflow-execution',
    'agent-workflow-gateway',
    'agent-workflow-memory',
    'agent-workflow-threads',
  ]);
  const run = ['run', 'execution.start', 'execution.start', 'POST /v1/graph/stream', caller];
  const stored = only(t, spans, 'memory.store', 'agent-workflow-memory');
  t.deepEqual(pathOf(spans, stored), ['memory.store', 'memory.store', 'node keep', ...run]);
  const committed = only(t, spans, 'threads.commitStep', 'agent-workflow-threads');
  t.deepEqual(pathOf(spans, committed), ['threads.commitStep', 'threads.commitStep', ...run]);
  holdsNoContents(t, collector);
}
