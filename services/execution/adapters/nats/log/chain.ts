import { stale, unavailable } from '@agent-workflow/kit/errors';
import { pause, retry } from '@agent-workflow/kit/retry';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { headers as createHeaders } from 'nats';
import { follows } from '../../../ports/log-numbers.ts';
import { isWrongLastSequence, steadily, type NatsClient } from '../client/client.ts';
import { isStreamAway } from '../client/streams.ts';
import { fromStored, joinDrafts, type Draft } from './drafts.ts';
import { lastWhole, toPayload, type Frame, type StoredFrame } from './frame.ts';
import { nothingStored, type LogPosition } from './position.ts';

export interface ChainOptions {
  readonly client: NatsClient;
  readonly runId: string;
  readonly subject: string;
  /** Names this writer in its frames: tells them from those of another replica. */
  readonly writer: string;
  /** Reads the position of the log's end, as the stream's leader has it. */
  readonly readPosition: () => Promise<LogPosition>;
  /** Creates the stream again when it is missing, and notices when it is a new one. */
  readonly restoreStream: () => Promise<void>;
  /** Keeps the frames that other writers have written up to this position, so that they can be put back with later ones. */
  readonly recall: (position: LogPosition) => Promise<void>;
  /** The newest frames above an event number, to be put back when the stream has lost them. */
  readonly kept: (last: number) => readonly StoredFrame[];
  readonly onStored: (frame: StoredFrame, batch: EventBatch) => void;
  readonly closing: AbortSignal;
}

/** The frames of one writer, each of which names the sequence of the one before it. */
interface Chain {
  /** Whether the log's last number is `last` and the log has not ended, as far as is known. */
  readonly isAt: (last: number) => boolean;
  /** The same; the stream is asked before the answer is no. */
  readonly canFollow: (last: number) => Promise<boolean>;
  /** Writes the frames in order, each once. @throws Stale when another writer came in between. */
  readonly put: (drafts: readonly Draft[]) => Promise<void>;
  readonly hasWritten: () => boolean;
  /** Puts back what the stream has lost, as far as it is kept here. */
  readonly putBack: () => Promise<void>;
}

const retryMs = 100;

export function createChain(options: ChainOptions, frameBytes: number): Chain {
  const { runId, writer, kept, onStored, closing } = options;
  const { publish, recover, readPosition } = createPublisher(options);
  const lostFrames = createLostFrames({ runId, kept, frameBytes });
  let position: LogPosition | undefined;

  /**
   * Writes a frame behind the log's end, once: whenever it is not known whether it was stored, the stream is asked. Resolves with
   * its sequence, or with the position of the log's end when the stream has lost what this writer wrote before.
   */
  const putOne = async (draft: Draft, head: number): Promise<number | LogPosition> => {
    for (;;) {
      const before = (position ??= nothingStored);
      try {
        return await publish(draft, before, head);
      } catch (error) {
        if (!(error instanceof Refused && error.isWrongSequence)) {
          await recover(error);
          await pause(retryMs, closing);
        }
      }
      const found = await readPosition();
      if (found.seq === before.seq) continue;
      if (found.frame && isSame(found.frame, draft) && found.frame.writer === writer) return found.seq;
      if (found.seq < before.seq && (!found.frame || found.frame.writer === writer)) {
        await options.restoreStream().catch(nothing);
        return found;
      }
      if (!follows(found.last, draft.first) || found.ended || draft.part > 1) throw staleError(runId);
      position = found;
    }
  };

  const addStored = (draft: Draft, seq: number, head: number): void => {
    const origin = position?.origin ?? 0;
    const frame: StoredFrame = { ...draft, seq, head, origin, writer, at: Date.now() };
    position = { seq, last: lastWhole(frame), ended: draft.ended && draft.part === draft.parts, origin, frame };
    onStored(frame, draft.batch);
    for (const entry of draft.entries) entry.done();
  };

  const putAll = async (drafts: readonly Draft[]): Promise<void> => {
    let list = drafts;
    let head = 0;
    for (let index = 0; index < list.length; index++) {
      const draft = list[index];
      if (!draft) break;
      if (draft.part === 1) head = 0;
      const put = await putOne(draft, head);
      if (typeof put === 'number') {
        addStored(draft, put, head);
        if (draft.part === 1) head = put;
        continue;
      }
      // A large event is written again from its first part on.
      const lost = lostFrames.withLost(put.last, list.slice(index - draft.part + 1, index + 1));
      list = [...lost, ...list.slice(index + 1)];
      index = -1;
      position = put;
    }
  };

  const isAt = (last: number): boolean => position?.last === last && !position.ended;

  return {
    isAt,

    canFollow: async (last) => {
      // The first frame of a run is tried at once: the server refuses it when there is another.
      if (!position && last === 0) position = nothingStored;
      if (isAt(last)) return true;
      position = await readPosition();
      if (!isAt(last)) return false;
      if (last > 0) await options.recall(position).catch(nothing);
      return true;
    },

    put: async (drafts) => {
      try {
        await putAll(drafts);
      } catch (error) {
        position = undefined;
        throw error;
      }
    },

    hasWritten: () => position?.frame?.writer === writer && !position.ended,

    putBack: async () => {
      const before = position;
      const found = await readPosition();
      if (!before || found.frame || found.seq >= before.seq) return;
      // A log that cannot be put back whole is not put back at all: later appends are Stale.
      position = found;
      await putAll([lostFrames.between(found.last, before.last + 1)]);
    },
  };
}

const nothing = (): void => undefined;

/** The Stale error of a log that was lost, or that another worker has continued. */
export const staleError = (runId: string): Error =>
  stale(`the log of run "${runId}" was lost, or has been continued by another worker`);

interface LostFrames {
  /** The lost frames above event number `last`, followed by a draft, or by the parts of a large event up to the next one. */
  readonly withLost: (last: number, drafts: readonly Draft[]) => readonly Draft[];
  /** The lost frames of the events above `last` and below `next`, as one. */
  readonly between: (last: number, next: number) => Draft;
}

/**
 * Rebuilds what the stream has lost. Everything that followers may have seen becomes one frame: a writer that dies meanwhile
 * leaves all of it or nothing. A log of which only a part was put back would continue with numbers that followers have seen.
 * Both throw Stale when that is more than a frame holds, or not all of it is kept.
 */
function createLostFrames({
  runId,
  kept,
  frameBytes,
}: Pick<ChainOptions, 'runId' | 'kept'> & { readonly frameBytes: number }): LostFrames {
  const inOneFrame = (drafts: readonly Draft[]): Draft => {
    const joined = joinDrafts(drafts, frameBytes);
    if (!joined) throw staleError(runId);
    return joined;
  };

  /** @throws Stale when not all of them are kept: a log has no gap. */
  const lostBetween = (last: number, next: number): readonly Draft[] => {
    const frames = kept(last).filter((frame) => frame.first > last && frame.last < next);
    let end = last;
    for (const frame of frames) {
      if (!follows(end, frame.first)) throw staleError(runId);
      end = frame.last;
    }
    if (!follows(end, next)) throw staleError(runId);
    return frames.map(fromStored);
  };

  return {
    withLost: (last, drafts) => {
      const [first] = drafts;
      if (!first) return [];
      const lost = lostBetween(last, first.first);
      if (first.parts === 1) return [inOneFrame([...lost, ...drafts])];
      // Followers see nothing of a large event before its last part is stored.
      if (drafts.length === first.parts) throw staleError(runId);
      return [...(lost.length > 0 ? [inOneFrame(lost)] : []), ...drafts];
    },

    between: (last, next) => inOneFrame(lostBetween(last, next)),
  };
}

interface Publisher {
  /** Stores a frame behind a position. Resolves with its sequence. @throws Refused, NatsError, Unavailable */
  readonly publish: (draft: Draft, behind: LogPosition, head: number) => Promise<number>;
  /** Waits until NATS can be asked again. @throws Unavailable when another attempt cannot help, or the log is closed. */
  readonly recover: (error: unknown) => Promise<void>;
  /** Reads the position of the log's end, and repeats that while NATS is unavailable. */
  readonly readPosition: () => Promise<LogPosition>;
}

function createPublisher(options: ChainOptions): Publisher {
  const { client, subject, writer, closing } = options;

  const recover = async (error: unknown): Promise<void> => {
    const isFinal = error instanceof Refused && !error.mayPass;
    if (isFinal || closing.aborted) throw unavailable('the event log cannot be written right now', error);
    if (isStreamAway(error)) await options.restoreStream().catch(nothing);
    await client.connected(closing);
  };

  return {
    recover,

    publish: async (draft, { seq, origin }, head) => {
      const headers = createHeaders();
      headers.set('Nats-Expected-Last-Subject-Sequence', String(seq));
      const reply = await client.request(subject, toPayload({ ...draft, head, origin, writer }), { headers });
      const { error, seq: stored } = reply.json<PublishReply>();
      if (error || stored === undefined) throw new Refused(error);
      return stored;
    },

    readPosition: async () =>
      retry(options.readPosition, {
        ...steadily(retryMs),
        signal: closing,
        mayHelp: () => true,
        onRetry: recover,
      }),
  };
}

const isSame = (found: Frame, { first, last, part, parts }: Draft): boolean =>
  found.first === first && found.last === last && found.part === part && found.parts === parts;

interface PublishReply {
  readonly seq?: number;
  readonly error?: { readonly code: number; readonly err_code: number; readonly description: string };
}

const serverBusy = 503;

/** JetStream's refusal to store a frame. */
class Refused extends Error {
  override readonly name = 'Refused';
  /** The sequence that the frame named is not that of the run's last one. */
  readonly isWrongSequence: boolean;
  /** Whether the same frame may be stored later. */
  readonly mayPass: boolean;

  constructor(error: PublishReply['error']) {
    super(error?.description ?? 'the reply is not one of JetStream');
    this.isWrongSequence = isWrongLastSequence(error?.err_code);
    this.mayPass = error === undefined || error.code === serverBusy;
  }
}
