import { ServiceError } from '@agent-workflow/kit/errors';
import { invalidAt, located } from '../../../../http/fields.ts';
import { StreamChunk } from '../../schemas/graph.ts';
import { RunParams, StreamQuery } from '../../schemas/runs.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/** The longest stream, one day: a stream normally ends with its run, or when its reader disconnects. */
export const streamMs = 24 * 60 * 60 * 1000;

/** Streams every event after the last one that the reader has seen. */
export const streamRun = endpoint({
  name: 'streamRun',
  tag: 'runs',
  summary: 'Follow a run, from the event after the last one seen',
  description:
    'Sends the events of a run after the last one that was seen, in their order and each once, whether the run is under way or has ended. The place is `Last-Event-ID`, else `after`, else the start. Events are kept for an hour after the end (`EVENTS_RETENTION`); later they are made again from the record, and `metadata` says `rebuilt: true`.',
  example: examples.streamRun,
  method: 'GET',
  path: '/v1/runs/{run_id}/stream',
  answer: 'events',
  access: { resource: 'graph', action: 'stream' },
  params: RunParams,
  takesTicket: true,
  takesLastEventId: true,
  input: StreamQuery,
  reply: StreamChunk,
  handle: async ({ owner, params, input, call, lastEventId }, { threads }) => {
    const runId = params.run_id;
    await threads.getRun({ owner, runId }, call());
    const after = lastEventId === undefined ? (input.after ?? 0) : seqOf(lastEventId, runId);
    return { follow: { owner, runId, after }, call: call(streamMs) };
  },
});

/** The number that `{run_id}:{seq}` ends with. */
function seqOf(lastEventId: string, runId: string): number {
  const loc = ['header', 'Last-Event-ID'];
  const colon = lastEventId.lastIndexOf(':');
  const seq = Number(lastEventId.slice(colon + 1));
  if (lastEventId.slice(0, Math.max(colon, 0)) !== runId) {
    const msg = `is not an event of run "${runId}"`;
    throw new ServiceError('BadRequest', `Last-Event-ID ${msg}`, {
      details: [located({ loc, msg, type: 'value_error' })],
    });
  }
  if (!/^\d{1,15}$/.test(lastEventId.slice(colon + 1))) {
    throw invalidAt(loc, 'must end with the number of an event', 'int_parsing');
  }
  return seq;
}
