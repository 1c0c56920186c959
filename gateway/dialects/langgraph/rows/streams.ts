import type { EndpointRequest, RunStream } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import type { Services } from '../../common/services.ts';
import { stopOnDisconnect } from '../../common/start-run.ts';
import { idOf, seqIn } from '../frames/frame.ts';
import { readModes, type Modes } from '../frames/modes.ts';
import * as schemas from '../schemas/runs.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { inModes } from './mode-frames.ts';
import { acceptNow, orderRun, placeOf, refuseLater } from './ordered-run.ts';
import { row } from './row.ts';
import { assistantIdOfRun } from './run-request.ts';
import { runOf } from './runs.ts';

const stream = { resource: 'graph', action: 'stream' } as const;

/** The longest stream, one day, in milliseconds: a stream normally ends with its run, or when its reader disconnects. */
export const streamMs = 24 * 60 * 60 * 1000;

/** Of the stream of one run. */
const ids = { name: 'run', idOf };

/** Where the stream of a run is continued: the clients resume a stream whose reply names this, and no other. */
function resumable(threadId: string, runId: string, modes: Modes): Readonly<Record<string, string>> {
  const place = placeOf(threadId, runId);
  const query = [...modes].map((mode) => `stream_mode=${mode}`).join('&');
  return { 'Content-Location': place, Location: `${place}/stream?${query}` };
}

type Created = EndpointRequest<unknown, schemas.RunInput>;

/** Accepts the run of a body and follows it from its first event. */
async function createAndStream(request: Created, threadId: string | undefined, services: Services): Promise<RunStream> {
  const { owner, input: body, call } = request;
  refuseLater(body);
  const modes = readModes(body.stream_mode, ['body', 'stream_mode']);
  const ordered = await orderRun(request, { body, ...(threadId !== undefined && { threadId }) }, services);
  const { runId, threadId: thread, justStarted } = await acceptNow(request, ordered, services);
  stopOnDisconnect({ ...request, input: ordered.order }, runId, services);
  request.addReplyHeaders(resumable(thread, runId, modes));
  request.releaseInput();
  await request.markAccepted();
  return {
    follow: { owner, runId, after: 0, justStarted },
    call: call(streamMs),
    extras: inModes({ owner, agent: ordered.agent, assistantId: ordered.assistantId, modes, ids }, services),
  };
}

const streamRun = row({
  name: 'lgRunAndStream',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/runs/stream',
  startsRun: true,
  answer: 'events',
  access: stream,
  params: ThreadParams,
  input: schemas.CreateRun,
  handle: (request, services) => createAndStream(request, request.params.thread_id, services),
});

const streamStateless = row({
  name: 'lgStatelessRunAndStream',
  method: 'POST',
  path: '/langgraph/runs/stream',
  startsRun: true,
  answer: 'events',
  access: stream,
  input: schemas.CreateRun,
  handle: (request, services) => createAndStream(request, undefined, services),
});

const joinStream = row({
  name: 'lgJoinStream',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/runs/{run_id}/stream',
  answer: 'events',
  access: stream,
  params: schemas.RunParams,
  input: schemas.StreamQuery,
  takesLastEventId: true,
  handle: async (request, services) => {
    const { owner, input, call, lastEventId } = request;
    const modes = readModes(input.stream_mode, ['query', 'stream_mode']);
    const after = lastEventId === undefined ? 0 : seqIn(lastEventId);
    if (after === undefined) throw invalidAt(['header', 'Last-Event-ID'], 'must be the id of an event of this run');
    const run = await runOf(request, services);
    const { runId, threadId, agent } = run;
    const assistantId = await assistantIdOfRun(request, run, services);
    const cancels = input.cancel_on_disconnect;
    if (cancels === '1' || cancels === 'true')
      stopOnDisconnect(
        { ...request, input: { recursion_limit: 1, config: { on_disconnect: 'cancel' } } },
        runId,
        services,
      );
    request.addReplyHeaders(resumable(threadId, runId, modes));
    return {
      follow: { owner, runId, after },
      call: call(streamMs),
      extras: inModes({ owner, agent, assistantId, modes, ids }, services),
    };
  },
});

export const streamRows = [streamRun, streamStateless, joinStream];
