import { createYielder } from '@agent-workflow/kit/yielder';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Block } from '@agent-workflow/protos/message';
import { isReasoning, type PublishedChunks } from '@agent-workflow/graph/state/message-chunks';
import { fromJson } from '../record/json.ts';
import type { RunLog } from '../ports/log.ts';

/** How much of one message a log holds. */
export interface PublishedMessage extends PublishedChunks {
  /** Whether the whole message followed its chunks. */
  readonly whole: boolean;
}

export const nothingPublished: PublishedMessage = { characters: 0, reasoning: 0, blocks: 0, whole: false };
export const allChunksPublished: PublishedMessage = {
  ...{ characters: Infinity, reasoning: Infinity, blocks: Infinity },
  whole: false,
};

/** What a log holds of one step. */
export interface PublishedStep {
  readonly message: (messageId: string) => PublishedMessage;
  /** Whether an event of this kind is there. For `on_chain_stream` the kind is its status, and each node has its own event. */
  readonly has: (kind: string, node?: string) => boolean;
}

interface StepAndNode {
  readonly step?: number;
  readonly node?: string;
}

/** What a run's log holds. */
export interface PublishedEvents {
  /** Whether an event of this kind is there. */
  readonly has: (kind: string) => boolean;
  /** Whether the whole message is there, in any step. */
  readonly hasWhole: (messageId: string) => boolean;
  /** Step and node of the last event of the message, as far as that event names them. */
  readonly sourceOf: (messageId: string) => StepAndNode;
  /** `ended` holds messages that end in steps before it which the log lacks. */
  readonly step: (step: number | undefined, ended?: ReadonlySet<string>) => PublishedStep;
  /** The last step with a `completed` event; all events of the steps before it are there. */
  readonly lastStep: () => number | undefined;
}

/** How long reading a log may take where its server is unavailable, in milliseconds. */
const readTimeoutMs = 30_000;

/** Reads what a run's log holds up to event number `last`. */
export async function readPublished(eventLog: RunLog, runId: string, last: number): Promise<PublishedEvents> {
  const published = collectPublished();
  if (last === 0) return published;
  const yielder = createYielder();
  for await (const { events } of eventLog.readUpTo(runId, last, AbortSignal.timeout(readTimeoutMs))) {
    for (const event of events) {
      if (event.seq <= last) published.add(event);
      if (yielder.isDue()) await yielder.yield();
    }
  }
  return published;
}

function collectPublished(): PublishedEvents & { readonly add: (event: RunEvent) => void } {
  const kinds = new Set<string>();
  const messages = new Map<string, PublishedMessage>();
  const whole = new Set<string>();
  /** Of messages that are not whole: their last step. */
  const begun = new Map<string, PublishedMessage>();
  const sources = new Map<string, StepAndNode>();
  let lastStep: number | undefined;
  const keyOf = (...parts: readonly (string | number | undefined)[]): string => parts.join('\n');

  const addChunk = (event: RunEvent): void => {
    const { message, step, node, messageId: id = '' } = event;
    const data = dataOf(event);
    const key = keyOf(step, id);
    const { characters, reasoning = 0, blocks, whole: isWhole } = messages.get(key) ?? nothingPublished;
    const thought = thoughtIn(data);
    messages.set(key, {
      characters: characters + (typeof data === 'string' ? data.length : 0),
      reasoning: reasoning + (thought?.length ?? 0),
      blocks: blocks + (typeof data === 'string' || thought !== undefined ? 0 : 1),
      whole: isWhole || message !== undefined,
    });
    sources.set(id, { ...(step === undefined ? {} : { step }), ...(node === undefined ? {} : { node }) });
    if (message) {
      whole.add(id);
      begun.delete(id);
    } else begun.set(id, messages.get(key) ?? nothingPublished);
  };

  return {
    add: (event) => {
      const { kind, step, node } = event;
      kinds.add(kind);
      if (kind === 'messages_chunk') addChunk(event);
      else if (kind === 'on_chain_stream') {
        const { status } = (dataOf(event) ?? {}) as { readonly status?: string };
        kinds.add(keyOf(step, status, node));
        if (status === 'completed') lastStep = step;
      } else kinds.add(keyOf(step, kind, undefined));
    },
    has: (kind) => kinds.has(kind),
    hasWhole: (id) => whole.has(id),
    sourceOf: (id) => sources.get(id) ?? {},
    step: (step, ended) => ({
      // A message that was published when its step was not on record any more has no step in its key. The chunks of one that a step
      // held were published in the step in which it was made.
      message: (id) =>
        messages.get(keyOf(step, id)) ??
        messages.get(keyOf(undefined, id)) ??
        (ended?.has(id) ? undefined : begun.get(id)) ??
        nothingPublished,
      has: (kind, node) => kinds.has(keyOf(step, kind, node)),
    }),
    lastStep: () => lastStep,
  };
}

/** The text of a chunk of reasoning. */
const thoughtIn = (data: unknown): string | undefined =>
  typeof data === 'object' && data !== null && isReasoning(data as Block) ? (data as { text: string }).text : undefined;

/** The data of an event; `undefined` where it is no JSON: on NATS a worker of a pool can write anything to the logs of its agents' runs. */
function dataOf({ data }: RunEvent): unknown {
  try {
    return fromJson(data);
  } catch {
    return undefined;
  }
}
