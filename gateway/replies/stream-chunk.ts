import { partsOfData, type EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { timeText } from '../http/json.ts';

/** Puts the envelope of a stream chunk around the events of one run, none of whose parts are parsed or copied. */
export type ToStreamChunk = (event: RunEvent) => StreamChunk;

/** A stream chunk: the bytes of `{"event":…,"data":…}` in views that follow each other. */
export interface StreamChunk {
  readonly parts: readonly Uint8Array[];
  readonly size: number;
}

const beforeData = (kind: EventKind): Buffer => Buffer.from(`{"event":"${kind}","data":`);

const beginnings: Readonly<Record<EventKind, Buffer>> = {
  metadata: beforeData('metadata'),
  on_chain_start: beforeData('on_chain_start'),
  on_chain_stream: beforeData('on_chain_stream'),
  messages_chunk: beforeData('messages_chunk'),
  state_chunk: beforeData('state_chunk'),
  context_chunk: beforeData('context_chunk'),
  summary_chunk: beforeData('summary_chunk'),
  on_chain_end: beforeData('on_chain_end'),
  error: beforeData('error'),
};

const beforeMessage = Buffer.from(',"message":');
const beforeState = Buffer.from(',"state":');

type Place = Pick<RunEvent, 'kind' | 'node' | 'step' | 'messageId' | 'role' | 'emitted'>;

/** The chunks of one message share all but their data and their time: the rest is written once. */
export function createStreamChunks(scope: RunScope): ToStreamChunk {
  const ids = `,"thread_id":${JSON.stringify(scope.threadId)},"run_id":${JSON.stringify(scope.runId)},"metadata":`;
  let last: Place | undefined;
  let lastAt = Number.NaN;
  let beforeTime = '';
  let behind = Buffer.alloc(0);

  /** What stands behind the parts of the event. */
  const behindParts = (event: RunEvent): Buffer => {
    const isSame = last !== undefined && isSamePlace(last, event);
    if (isSame && event.at === lastAt) return behind;
    if (!isSame) beforeTime = `${ids}${metadataOf(scope, event)},"timestamp":`;
    last = event;
    lastAt = event.at;
    behind = Buffer.from(`${beforeTime}${timeText(event.at)}}`);
    return behind;
  };

  return (event) => {
    const { kind, message, state } = event;
    const parts: readonly Uint8Array[] = [
      beginnings[kind as EventKind],
      ...partsOfData(event),
      ...(message ? [beforeMessage, message] : []),
      ...(state ? [beforeState, state] : []),
      behindParts(event),
    ];
    return { parts, size: parts.reduce((sum, { byteLength }) => sum + byteLength, 0) };
  };
}

const isSamePlace = (one: Place, other: Place): boolean =>
  one.kind === other.kind &&
  one.messageId === other.messageId &&
  one.node === other.node &&
  one.step === other.step &&
  one.role === other.role &&
  one.emitted === other.emitted;

/** What is published when a node is at work names the node first; what is published of a whole step names the step first. */
function metadataOf(scope: RunScope, { kind, node, step, messageId, role, emitted }: Place): string {
  const isOfNode = kind === 'on_chain_stream' || emitted === true;
  return JSON.stringify({
    request_id: scope.requestId,
    thread_id: scope.threadId,
    is_new_thread: scope.isNewThread,
    ...(isOfNode ? { node, step } : { step, node }),
    message_id: messageId,
    role,
  });
}
