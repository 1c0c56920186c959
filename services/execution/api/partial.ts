import { sizes } from '@agent-workflow/kit/sizes';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { MessageEntry, PartialMessages } from '@agent-workflow/protos/threads';
import { fromJson } from '../record/json.ts';
import type { RunLog } from '../ports/log.ts';

/** A message that is not whole. */
interface Begun {
  readonly node: string | undefined;
  bytes: number;
  readonly at: number;
  text: string;
}

/** How long the log is read at most, in milliseconds. */
const readMs = 5000;

/** The bytes that a message has beside its text, at most. */
const besideText = 4096;

/**
 * The text that a run has published of the assistant's messages that are not whole, as messages. Reading ends where the text would be larger than one message may
 * be. `undefined` when the log holds none of it, or cannot be read.
 */
export async function readPartial(
  eventLog: Pick<RunLog, 'last' | 'readUpTo'>,
  runId: string,
  { signal }: Call,
): Promise<PartialMessages | undefined> {
  try {
    const until = AbortSignal.any([signal, AbortSignal.timeout(readMs)]);
    const last = await eventLog.last(runId);
    return last === 0 ? undefined : await collect(eventLog.readUpTo(runId, last, until), last);
  } catch {
    // The run is stopped all the same.
    return undefined;
  }
}

async function collect(batches: ReturnType<RunLog['readUpTo']>, last: number): Promise<PartialMessages | undefined> {
  const begun = new Map<string, Begun>();
  const yielder = createYielder();
  let seq = 0;
  for await (const { events } of batches) {
    for (const event of events) {
      if (event.seq > last || !note(begun, event)) return toPartial(begun, seq);
      seq = event.seq;
      if (yielder.isDue()) await yielder.yield();
    }
  }
  return toPartial(begun, seq);
}

/** @returns whether there is room for the text. */
function note(begun: Map<string, Begun>, event: RunEvent): boolean {
  if (event.kind === 'messages_chunk') return noteChunk(begun, event);
  if (event.kind === 'on_chain_stream' && statusOf(event) === 'restarted')
    for (const [id, { node }] of begun) if (node === event.node) begun.delete(id);
  return true;
}

function noteChunk(begun: Map<string, Begun>, { messageId, role, message, node, at, data }: RunEvent): boolean {
  if (messageId === undefined || role !== 'assistant') return true;
  if (message) {
    begun.delete(messageId);
    return true;
  }
  const chunk = fromJson(data);
  if (typeof chunk !== 'string') return true;
  const one = begun.get(messageId) ?? { node, at, bytes: 0, text: '' };
  const bytes = bytesOf(chunk);
  const others = [...begun.values()].reduce((sum, other) => sum + other.bytes, 0);
  if (others + bytes > sizes.message - besideText) return false;
  one.text += chunk;
  one.bytes += bytes;
  begun.set(messageId, one);
  return true;
}

const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text));

const statusOf = ({ data }: RunEvent): unknown => (fromJson(data) as { readonly status?: unknown } | null)?.status;

function toPartial(begun: ReadonlyMap<string, Begun>, seq: number): PartialMessages | undefined {
  const messages = [...begun].flatMap(([messageId, { at, text }]): MessageEntry[] => {
    if (text === '') return [];
    const message: Message = {
      message_id: messageId,
      role: 'assistant',
      content: [{ type: 'text', text }],
      metadata: { partial: true },
      timestamp: new Date(at).toISOString(),
    };
    return [{ messageId, json: Buffer.from(JSON.stringify(message)) }];
  });
  return messages.length === 0 ? undefined : { seq, messages };
}
