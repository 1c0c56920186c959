import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndpointRequest, ThreadStream } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import type { Services } from '../../common/services.ts';
import { framePlace, type Frame } from '../frames/frame.ts';
import { readModes, type Modes } from '../frames/modes.ts';
import { runsOfThread, type Start } from '../live/thread-runs.ts';
import { encodeProtocol, withoutFirst } from '../protocol/protocol-frame.ts';
import { readSubscription, type Subscription } from '../protocol/channels.ts';
import { cursorAfter, cursorOf, type Cursor } from '../protocol/event-id.ts';
import { createRunEvents } from '../protocol/run-events.ts';
import * as schemas from '../schemas/streams.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { framed, type FramePlace } from '../../common/framed.ts';
import { inModes } from './mode-frames.ts';
import { refuseOtherAgent } from './other-agent.ts';
import { row } from './row.ts';
import { runRecord } from './run-record.ts';
import { aboutRun } from './run-request.ts';
import { streamMs } from './streams.ts';
import { noThread } from './threads.ts';

const stream = { resource: 'graph', action: 'stream' } as const;

/** What `run_modes` stands for, whatever the modes that a run was started with. */
const ofRuns = ['values', 'updates', 'messages-tuple', 'custom'] as const;

/** The modes that the stream of a thread asks for. @throws Invalid for a word that is none */
function readThreadModes(given: string | readonly string[] | undefined): Modes {
  const words = given === undefined ? ['run_modes'] : [given].flat();
  const place = ['query', 'stream_mode'];
  if (words.includes('state_update'))
    throw invalidAt(place, 'must not have state_update: a state that a caller changes is in the history, and no event');
  const named = words.flatMap((word) => (word === 'run_modes' ? ofRuns : word === 'lifecycle' ? [] : [word]));
  return named.length === 0 ? new Set() : readModes(named, place);
}

/** The place in an id of the stream of a thread; `-1` is the beginning of what is kept. @throws Invalid */
function placeIn(id: string): Cursor {
  if (id === '-1') return { ordinal: 0, after: 0 };
  const [, ordinal, seq, skipped] = /^(\d{1,8})-(\d{1,16})(?:\.(\d{1,9}))?$/.exec(id) ?? [];
  if (ordinal === undefined)
    throw invalidAt(['header', 'Last-Event-ID'], 'must be the id of an event of the stream of a thread');
  return { ordinal: Number(ordinal), ...framePlace(Number(seq), skipped) };
}

/** Where a reader goes on in the run of this ordinal. */
const placeOf = (cursor: Cursor | undefined, ordinal: number): FramePlace | undefined =>
  cursor?.ordinal === ordinal ? { skipped: 0, ...cursor } : undefined;

/** The last frame of a run: on its own, the end of a stream says that no more. */
const doneFrame = (runId: string, { kind }: RunEvent): Frame[] =>
  kind === 'on_chain_end' || kind === 'error'
    ? [{ name: 'metadata', data: JSON.stringify({ status: 'run_done', run_id: runId }) }]
    : [];

const joinThread = row({
  name: 'lgJoinThreadStream',
  method: 'GET',
  path: '/langgraph/threads/{thread_id}/stream',
  answer: 'events',
  access: stream,
  params: ThreadParams,
  input: schemas.ThreadStreamQuery,
  takesLastEventId: true,
  absent: noThread,
  handle: async (request, services): Promise<ThreadStream> => {
    const { owner, params, input, lastEventId, call: begin } = request;
    const { thread_id: threadId } = params;
    const modes = readThreadModes(input.stream_mode);
    const cursor = lastEventId === undefined ? undefined : placeIn(lastEventId);
    await services.threads.getThread({ owner, threadId }, begin());
    const words = [input.stream_mode ?? []].flat().map((mode) => `stream_mode=${encodeURIComponent(mode)}`);
    const query = words.length === 0 ? '' : `?${words.join('&')}`;
    request.addReplyHeaders({ Location: `/threads/${encodeURIComponent(threadId)}/stream${query}` });
    return followThread(request, services, {
      ...{ threadId, cursor, start: 'open' },
      extrasOf: async (run) => {
        const { runId, ordinal, agent } = run;
        return inModes(
          {
            ...{ owner, agent, about: await aboutRun(request, run, services), modes },
            ids: { name: `thread ${String(ordinal)}`, idOf: ({ seq }) => `${String(ordinal)}-${String(seq)}` },
            place: placeOf(cursor, ordinal),
            more: (event) => doneFrame(runId, event),
          },
          services,
        );
      },
    });
  },
});

interface FollowedThread {
  readonly threadId: string;
  readonly cursor: Cursor | undefined;
  /** Where it begins that has no cursor. */
  readonly start: Start;
  readonly extrasOf: (run: OrdinalRun) => ReturnType<typeof framed> | Promise<ReturnType<typeof framed>>;
}

interface OrdinalRun {
  readonly runId: string;
  readonly ordinal: number;
  readonly agent: string;
}

type Requested = Pick<EndpointRequest, 'owner' | 'user' | 'agent' | 'call'>;

/** The runs of a thread as a stream. */
function followThread(
  request: Requested,
  services: Services,
  { threadId, cursor, start, extrasOf }: FollowedThread,
): ThreadStream {
  const { owner, call: begin } = request;
  const call = begin(streamMs);
  const watched = { owner, threadId, start: cursor ?? start, call, newCall: begin };
  return { runs: streamsOf() };

  async function* streamsOf() {
    for await (const run of runsOfThread(watched, services)) {
      const { runId, ordinal } = run;
      await refuseOtherAgent(request, { threadId, agent: run.agent }, services);
      const after = ordinal === cursor?.ordinal ? cursor.after : 0;
      yield { follow: { owner, runId, after }, call, extras: await extrasOf(run) };
    }
  }
}

interface InProtocol {
  readonly owner: string;
  readonly subscription: Subscription;
  readonly cursor: Cursor | undefined;
}

/** The events of a run of a thread in the streaming protocol. */
const inProtocol = (
  { owner, subscription, cursor }: InProtocol,
  { ordinal, agent }: OrdinalRun,
  services: Services,
): ReturnType<typeof framed> =>
  framed({
    name: `protocol ${String(ordinal)} ${String(subscription.hasRoot)} ${[...subscription.channels].toSorted().join(' ')}`,
    begin: (scope, call) => {
      const record = runRecord({ owner, agent, call, runId: scope.runId, threadId: scope.threadId }, services);
      return createRunEvents({ subscription, scope, ordinal, graphId: agent, record });
    },
    place: placeOf(cursor, ordinal),
    encode: (frames, _event, skipped) => encodeProtocol(withoutFirst(frames, skipped)),
    endsLate: subscription.channels.has('lifecycle'),
  });

const streamEvents = row({
  name: 'lgStreamThreadEvents',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/stream/events',
  answer: 'events',
  access: stream,
  params: ThreadParams,
  input: schemas.EventStream,
  takesLastEventId: true,
  isRead: true,
  mayBeAhead: true,
  handle: (request, services): Promise<ThreadStream> => {
    const { owner, params, input, lastEventId } = request;
    const { since } = input;
    const subscription = readSubscription(input, ['body']);
    const given = lastEventId === undefined ? since && cursorAfter(since) : cursorOf(lastEventId);
    const cursor = given === 0 ? undefined : given;
    const followed = { threadId: params.thread_id, cursor, start: 'kept' } as const;
    return Promise.resolve(
      followThread(request, services, {
        ...followed,
        extrasOf: (run) => inProtocol({ owner, subscription, cursor }, run, services),
      }),
    );
  },
});

export const threadStreamRows = [joinThread, streamEvents];
