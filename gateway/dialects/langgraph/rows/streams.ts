import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Run } from '@agent-workflow/protos/threads';
import type { Access } from '../../../http/access.ts';
import type { EndpointRequest, RunStream, ThreadStream } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import type { Services } from '../../common/services.ts';
import { stopOnDisconnect } from '../../common/start-run.ts';
import { idOf, placeIn } from '../frames/frame.ts';
import { modesOf, readModes, readModesIn, type Modes } from '../frames/modes.ts';
import { fromKeptRequest, type Started } from '../out/kept-request.ts';
import * as schemas from '../schemas/runs.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { inModes } from './mode-frames.ts';
import { acceptNow, acceptOrdered, orderRun, placeOf, startsLater } from './ordered-run.ts';
import { endOnDisconnect, laterRun, whenBegun } from './later-runs.ts';
import { row } from './row.ts';
import { aboutRun, requestsOf } from './run-request.ts';
import { accessOfThread, runOf } from './runs.ts';

const stream = { resource: 'graph', action: 'stream' } as const;

/** Modes that show the whole state of a thread, or parts of it from before the run, are read by `checkpointer:read`, as states are. */
const alsoAccess = ({ stream_mode: modes = defaultMode }: Moded): readonly Access[] =>
  [modes].flat().every((mode) => isOfRun.has(mode)) ? [] : [{ resource: 'checkpointer', action: 'read' }];
const isOfRun: ReadonlySet<string> = new Set(['messages', 'messages-tuple', 'custom', 'updates']);
const defaultMode = 'values';

interface Moded {
  readonly stream_mode?: string | readonly string[];
}

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
async function createAndStream(
  request: Created,
  threadId: string | undefined,
  services: Services,
): Promise<RunStream | ThreadStream> {
  const { owner, input: body, call } = request;
  const modes = readModes(body.stream_mode, ['body', 'stream_mode']);
  const ordered = await orderRun(request, { body, ...(threadId !== undefined && { threadId }) }, services);
  if (startsLater(body)) {
    const { runId, threadId: thread } = await acceptOrdered(request, ordered, services);
    request.addReplyHeaders(resumable(thread, runId, modes));
    const named = { ...request, params: { thread_id: thread, run_id: runId } };
    if (body.on_disconnect === 'cancel') endOnDisconnect(named, services);
    await request.markAccepted();
    const streamOf = async (begun: Run): Promise<RunStream> => {
      const about = await aboutRun(request, begun, services);
      const extras = inModes({ owner, agent: begun.agent, about, modes, ids }, services);
      return { follow: { owner, runId, after: 0 }, call: call(streamMs), extras };
    };
    return { runs: streamWhenBegun(named, streamOf, services), ends: true };
  }
  const { agent, assistantId, terms } = ordered;
  // As the record has it: all streams of a run are alike.
  const { metadata } = fromKeptRequest(terms.keptRequest)?.body ?? {};
  const extras = inModes({ owner, agent, about: { assistantId, metadata }, modes, ids }, services);
  const { runId, threadId: thread, justStarted } = await acceptNow(request, ordered, services);
  stopOnDisconnect({ ...request, input: ordered.order }, runId, services);
  request.addReplyHeaders(resumable(thread, runId, modes));
  request.releaseInput();
  await request.markAccepted();
  return {
    follow: { owner, runId, after: 0, justStarted },
    call: call(streamMs),
    extras,
  };
}

const streamRun = row({
  name: 'lgRunAndStream',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/runs/stream',
  startsRun: true,
  answer: 'events',
  access: stream,
  alsoAccess: (input: schemas.RunInput) => [...alsoAccess(input), ...accessOfThread(input)],
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
  alsoAccess,
  input: schemas.CreateRun,
  handle: (request, services) => createAndStream(request, undefined, services),
});

const joinStream = row({
  name: 'lgJoinStream',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/runs/{run_id}/stream',
  answer: 'events',
  access: stream,
  alsoAccess,
  params: schemas.RunParams,
  input: schemas.StreamQuery,
  takesLastEventId: true,
  handle: async (request, services) => {
    const { owner, input, call, lastEventId } = request;
    const named = readModesIn(input.stream_mode, ['query', 'stream_mode']);
    const place = placeIn(lastEventId ?? '-1');
    if (!place) throw invalidAt(['header', 'Last-Event-ID'], 'must be the id of an event of this run');
    const { run_id: runId, thread_id: threadId } = request.params;
    const run = await undefinedIfNotFound(runOf(request, services));
    // A run that is neither begun nor to begin is refused before the stream is there.
    const later = run ? undefined : await laterRun(request, services);
    const started = async (): Promise<Started | undefined> =>
      later
        ? fromKeptRequest(later.schedule.terms?.keptRequest)
        : (await requestsOf(request, [runId], services)).get(runId)?.started;
    const modes = named ?? modesOf(await started());
    const cancels = input.cancel_on_disconnect;
    if (cancels === '1' || cancels === 'true') endOnDisconnect(request, services);
    request.addReplyHeaders(resumable(threadId, runId, modes));
    const streamOf = async (begun: Run): Promise<RunStream> => {
      const about = await aboutRun(request, begun, services);
      const extras = inModes({ owner, agent: begun.agent, about, modes, ids, place }, services);
      return { follow: { owner, runId, after: place.after }, call: call(streamMs), extras };
    };
    return run ? streamOf(run) : { runs: streamWhenBegun(request, streamOf, services), ends: true };
  },
});

/** The stream of a run that starts later; of one that never does an empty one. */
async function* streamWhenBegun(
  request: Parameters<typeof whenBegun>[0],
  streamOf: (run: Run) => RunStream | Promise<RunStream>,
  services: Services,
): AsyncGenerator<RunStream> {
  const run = await whenBegun(request, { ms: streamMs, services });
  if ('runId' in run) yield await streamOf(run);
}

export const streamRows = [streamRun, streamStateless, joinStream];
