import { partsOfData, type EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { ExtraKind, ToEventJson } from '../../../http/framing.ts';

type Kind = EventKind | ExtraKind;

const beforeData = (kind: Kind): Buffer => Buffer.from(`{"event":"${kind}","data":`);

const beginnings: Readonly<Record<Kind, Buffer>> = {
  metadata: beforeData('metadata'),
  on_chain_start: beforeData('on_chain_start'),
  on_chain_stream: beforeData('on_chain_stream'),
  messages_chunk: beforeData('messages_chunk'),
  state_chunk: beforeData('state_chunk'),
  context_chunk: beforeData('context_chunk'),
  summary_chunk: beforeData('summary_chunk'),
  on_chain_end: beforeData('on_chain_end'),
  error: beforeData('error'),
  tasks: beforeData('tasks'),
  values: beforeData('values'),
};

const beforeMessage = Buffer.from(',"message":');
const beforeState = Buffer.from(',"state":');

type MetadataFields = Pick<RunEvent, 'kind' | 'node' | 'step' | 'messageId' | 'role' | 'emitted'>;

/** Without the data of the event, which would stay in memory with it. */
const metadataFieldsOf = ({
  data: _data,
  repeat: _repeat,
  message: _message,
  state: _state,
  ...fields
}: RunEvent): MetadataFields => fields;

/**
 * Puts the envelope `{"event":…,"data":…}` around the events of one run. The parts of an event are neither parsed nor copied.
 * Consecutive segments of one message differ only in data and timestamp: the rest is encoded once.
 */
export function createToEventJson(scope: RunScope): ToEventJson {
  const ids = `,"thread_id":${JSON.stringify(scope.threadId)},"run_id":${JSON.stringify(scope.runId)},"metadata":`;
  let last: MetadataFields | undefined;
  let lastAt = Number.NaN;
  let beforeTime = '';
  let after = Buffer.alloc(0);

  /** The bytes after the parts of the event. */
  const afterParts = (event: RunEvent): Buffer => {
    const isSame = last !== undefined && hasSameMetadata(last, event);
    if (isSame && event.at === lastAt) return after;
    if (!isSame) {
      last = metadataFieldsOf(event);
      beforeTime = `${ids}${metadataOf(scope, event)},"timestamp":`;
    }
    lastAt = event.at;
    after = Buffer.from(`${beforeTime}"${new Date(event.at).toISOString()}"}`);
    return after;
  };

  return (event) => {
    const { kind, data, repeat, message, state } = event;
    const parts: Uint8Array[] = [beginnings[kind as Kind]];
    if (repeat) parts.push(...partsOfData(event));
    else parts.push(data);
    if (message) parts.push(beforeMessage, message);
    if (state) parts.push(beforeState, state);
    parts.push(afterParts(event));
    return { parts, size: parts.reduce((sum, { byteLength }) => sum + byteLength, 0) };
  };
}

const hasSameMetadata = (one: MetadataFields, other: MetadataFields): boolean =>
  one.kind === other.kind &&
  one.messageId === other.messageId &&
  one.node === other.node &&
  one.step === other.step &&
  one.role === other.role &&
  one.emitted === other.emitted;

/** An event of a working node names the node first; an event of a whole step names the step first. */
function metadataOf(scope: RunScope, { kind, node, step, messageId, role, emitted }: MetadataFields): string {
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
