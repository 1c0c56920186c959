import type { Static } from 'typebox';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';
import * as examples from '../examples/trace.ts';
import { RunParams } from '../schemas/runs.ts';
import { MaskedTrace, RunTrace, TraceQuery } from '../schemas/trace.ts';
import { endpoint } from './common/endpoint.ts';
import { withMaskedError } from './common/masked-error.ts';
import { tracePage } from './common/trace-spans.ts';

const traced = {
  name: 'getRunTrace',
  tag: 'runs',
  summary: 'Get the trace of a run: its steps, and what went on within each',
  description:
    'A tree of spans on one time axis: steps, nodes, branches, steps of sub-graphs, attempts, calls of models and tools, and takeovers, from the record. It is there while the run goes on, and after its events are gone; the spans of a step come with its commit and are kept as long as its checkpoint. Messages are named by their ids: the steps of the run and the messages of its thread have them. Prompts, stacks and log lines are recorded where `TRACE_CONTENT` is on, and shown by a service that lets in everyone on its own machine and nobody else.',
  example: examples.getRunTrace,
  method: 'GET',
  path: '/v1/runs/{run_id}/trace',
  access: { resource: 'checkpointer', action: 'read' },
  params: RunParams,
  input: TraceQuery,
} as const;

/** What went on in a run, from the record. */
export const getRunTrace = endpoint({
  ...traced,
  reply: RunTrace,
  handle: async (request, services) => JSON.stringify(await traceOf(request, services)),
});

/** The same without contents. */
export const getMaskedTrace = endpoint({
  ...traced,
  reply: MaskedTrace,
  handle: async (request, services) => {
    const { spans, ...trace } = await traceOf(request, { ...services, isLocal: false });
    return JSON.stringify({ ...trace, spans: spans.map(({ memory_ids: _, ...span }) => withMaskedError(span)) });
  },
});

type TraceRequest = EndpointRequest<Static<typeof RunParams>, Static<typeof TraceQuery>>;

async function traceOf(
  { owner, params, input, call: begin }: TraceRequest,
  { threads, isLocal }: Pick<Services, 'threads' | 'isLocal'>,
) {
  const runId = params.run_id;
  const call = begin();
  const { after, limit } = input;
  const fromStep = after === undefined ? 0 : after + 1;
  const reply = await threads.listRunTrace({ owner, runId, fromStep, limit, withContent: isLocal }, call);
  // Read last: what the trace shows as under way may have ended, and not the other way round.
  const run = await threads.getRun({ owner, runId }, call);
  const { spans, last, hasMore } = tracePage(run, reply);
  return {
    ...{ run_id: runId, thread_id: run.threadId, status: run.status },
    created_at: new Date(run.createdAt).toISOString(),
    ended_at: run.end ? new Date(run.updatedAt).toISOString() : null,
    shows_content: isLocal,
    spans,
    has_more: hasMore,
    next_after: last ?? after ?? null,
  };
}
