import { stale, unavailable } from '@agent-workflow/kit/errors';
import { pause, retry } from '@agent-workflow/kit/retry';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { headers as createHeaders } from 'nats';
import { follows } from '../../../ports/log-numbers.ts';
import { isForbidden, isWrongLastSequence, steadily, type NatsClient } from '../client/client.ts';
import { isStreamAway } from '../client/streams.ts';
import { createConflicts, type Conflicts } from './conflicts.ts';
import { fromStored, joinDrafts, type Draft } from './drafts.ts';
import { endsLog, lastWhole, toPayload, type Frame, type StoredFrame } from './frame.ts';
import { nothingStored, type LogPosition } from './position.ts';

/*
 * How one writer adds frames to a run's log, also when the stream is lost meanwhile.
 *
 * Each frame names the sequence of the message before it on the log's subject, and NATS refuses a frame that does not follow the
 * last one. So of two writers only one can continue a log, and a frame whose outcome is not known can be sent again. The message before
 * it may be one that no reader can read: workers of a pool may put anything there, also so fast that a frame never follows the last one.
 * An append is therefore tried a bounded number of times (`conflicts.ts`); then its events are dropped.
 * A stream that NATS has lost is created again, empty (`recreateStream`). A writer keeps the newest frames of its log (`keptFrames`;
 * of a log that another writer began, once `keepEarlier` has read them). From these it puts back what the stream has lost, in one
 * frame: before its next frame (`withLost`), or when the loss is noticed and it has nothing to write (`putBack`). A log of which
 * not everything is kept, or which does not fit into one frame, is not put back: its writer gets Stale, and the log is rebuilt
 * from the record.
 */

export interface ChainOptions {
  readonly client: Pick<NatsClient, 'request' | 'connected'>;
  readonly runId: string;
  /** Where the log begins if it has no message yet. */
  readonly beginSubject: () => string;
  /** The name of this writer in its frames, which differ by it from those of other replicas. */
  readonly writer: string;
  /** Reads the position of the log's end, as the stream's leader has it. */
  readonly readPosition: () => Promise<LogPosition>;
  /** Creates the stream again when it is missing, and notices when it is a new one. */
  readonly recreateStream: () => Promise<void>;
  /** Reads and keeps the frames that other writers have written up to this position: they can be put back with later ones. */
  readonly keepEarlier: (position: LogPosition) => Promise<void>;
  /** The newest frames above an event number, to be put back when the stream has lost them. */
  readonly keptFrames: (last: number) => readonly StoredFrame[];
  readonly onStored: (frame: StoredFrame, batch: EventBatch) => void;
  /** Called with the log's subject when other messages came first too often, before the append fails. */
  readonly onConflicts: (subject: string) => void;
  readonly closing: AbortSignal;
}

/** The result of writing one frame: its subject and its sequence in the stream, or the end of a log that has lost what this writer wrote before. */
type Put =
  | { readonly storedAt: number; readonly subject: string; readonly lostBehind?: undefined }
  | { readonly storedAt?: undefined; readonly lostBehind: LogPosition };

/** Which of the frames that were to be written, counted from 0, was not, because the log has lost what was before it. It ends at `behind`. */
interface Loss {
  readonly index: number;
  readonly behind: LogPosition;
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
  const { runId, writer, keptFrames, onStored, onConflicts, closing } = options;
  const { publish, waitForNats, readPosition } = createPublisher(options);
  const lostFrames = createLostFrames({ runId, keptFrames, frameBytes });
  let position: LogPosition | undefined;

  const subjectOf = (at: LogPosition | undefined): string => at?.frame?.subject ?? options.beginSubject();
  const countConflicts = (): Conflicts =>
    createConflicts({ onTooMany: () => onConflicts(subjectOf(position)), closing });
  /** Those of the append that is being written. */
  let conflicts = countConflicts();

  /** Whether this writer, or one that it has taken the log over from, has put it back. The other one may not know yet that it was replaced. */
  const hasFramesOf = (name: string): boolean =>
    name === writer || options.keptFrames(0).some((frame) => frame.writer === name);

  /** Writes a frame after the log's end, once: whenever it is not known whether it was stored, the stream is read. */
  const putOne = async (draft: Draft, firstSliceSeq: number): Promise<Put> => {
    for (;;) {
      const before = (position ??= nothingStored);
      const subject = subjectOf(before);
      try {
        return { storedAt: await publish(subject, { draft, behind: before, firstSliceSeq }), subject };
      } catch (error) {
        if (error instanceof Refused && error.isWrongSequence) await conflicts.wait();
        else {
          await waitForNats(error);
          await pause(retryMs, closing);
        }
      }
      const found = await readPosition();
      if (found.lastSeq === before.lastSeq) continue;
      if (found.frame && isSame(found.frame, draft) && found.frame.writer === writer)
        return { storedAt: found.streamSeq, subject: found.frame.subject };
      if (found.streamSeq < before.streamSeq && (!found.frame || hasFramesOf(found.frame.writer))) {
        await options.recreateStream().catch(nothing);
        return { lostBehind: found };
      }
      // The writer before has put back what it wrote, while this one was about to put back all.
      const isNew = found.streamSeq !== before.streamSeq && !found.ended;
      if (isNew && found.frame && hasFramesOf(found.frame.writer)) return { lostBehind: found };
      // What came between may be no frame: then the log is as it was.
      const isContinued = found.streamSeq !== before.streamSeq;
      if (!follows(found.last, draft.first) || found.ended || (draft.slice > 1 && isContinued)) throw staleError(runId);
      position = found;
    }
  };

  const addStored = (draft: Draft, stored: Pick<StoredFrame, 'streamSeq' | 'subject' | 'firstSliceSeq'>): void => {
    const { streamSeq } = stored;
    const origin = position?.origin ?? 0;
    const frame: StoredFrame = { ...draft, ...stored, origin, writer, at: Date.now() };
    position = { streamSeq, lastSeq: streamSeq, last: lastWhole(frame), ended: endsLog(frame), origin, frame };
    onStored(frame, draft.batch);
    for (const entry of draft.entries) entry.done();
  };

  /** Writes frames in order, up to a loss of what was written before. */
  const putUntilLoss = async (drafts: readonly Draft[]): Promise<Loss | undefined> => {
    let firstSliceSeq = 0;
    for (const [index, draft] of drafts.entries()) {
      if (draft.slice === 1) firstSliceSeq = 0;
      const put = await putOne(draft, firstSliceSeq);
      const { lostBehind } = put;
      if (lostBehind) return { index, behind: lostBehind };
      addStored(draft, { streamSeq: put.storedAt, subject: put.subject, firstSliceSeq });
      if (draft.slice === 1) firstSliceSeq = put.storedAt;
    }
    return undefined;
  };

  /** Writes frames in order, and before them what the stream has lost meanwhile, which may happen again. */
  const putAll = async (drafts: readonly Draft[]): Promise<void> => {
    conflicts = countConflicts();
    let left = drafts;
    let withLost = drafts;
    for (let loss = await putUntilLoss(withLost); loss; loss = await putUntilLoss(withLost)) {
      // Lost frames are either in the first frame or before it.
      const index = Math.max(0, loss.index - (withLost.length - left.length));
      // A large event is written again from its first slice on.
      const { slice } = left[index] as Draft;
      left = left.slice(index - slice + 1);
      withLost = [...lostFrames.withLost(loss.behind.last, left.slice(0, slice)), ...left.slice(slice)];
      position = loss.behind;
    }
  };

  /** Writes the lost frames of the events between the end of a log and `next`. */
  const putLost = async (found: LogPosition, next: number): Promise<void> => {
    conflicts = countConflicts();
    let behind = found;
    while (behind.last + 1 < next) {
      position = behind;
      const loss = await putUntilLoss([lostFrames.between(behind.last, next)]);
      if (!loss) return;
      behind = loss.behind;
    }
    position = behind;
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
      if (last > 0) await options.keepEarlier(position).catch(nothing);
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
      if (!before || found.frame || found.streamSeq >= before.streamSeq) return;
      // A log that cannot be put back whole is not put back at all: later appends are Stale.
      position = found;
      await putLost(found, before.last + 1);
    },
  };
}

const nothing = (): void => undefined;

/** The Stale error of a log that was lost, or that another worker has continued. */
export const staleError = (runId: string): Error =>
  stale(`the log of run "${runId}" was lost, or has been continued by another worker`);

interface LostFrames {
  /** The lost frames above event number `last`, followed by a draft, or by the slices of a large event up to the next one. */
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
  keptFrames,
  frameBytes,
}: Pick<ChainOptions, 'runId' | 'keptFrames'> & { readonly frameBytes: number }): LostFrames {
  const inOneFrame = (drafts: readonly Draft[]): Draft => {
    const joined = joinDrafts(drafts, frameBytes);
    if (!joined) throw staleError(runId);
    return joined;
  };

  /** @throws Stale when not all of them are kept: a log has no gap. */
  const lostBetween = (last: number, next: number): readonly Draft[] => {
    const frames = keptFrames(last).filter((frame) => frame.first > last && frame.last < next);
    let end = last;
    for (const frame of frames) {
      if (!follows(end, frame.first)) throw staleError(runId);
      end = frame.last;
    }
    if (!follows(end, next)) throw staleError(runId);
    const drafts = frames.map(fromStored).filter((draft) => draft !== undefined);
    if (drafts.length < frames.length) throw staleError(runId);
    return drafts;
  };

  return {
    withLost: (last, drafts) => {
      const [first] = drafts;
      if (!first) return [];
      const lost = lostBetween(last, first.first);
      if (first.slices === 1) return [inOneFrame([...lost, ...drafts])];
      // Followers see nothing of a large event before its last slice is stored.
      if (drafts.length === first.slices) throw staleError(runId);
      return [...(lost.length > 0 ? [inOneFrame(lost)] : []), ...drafts];
    },

    between: (last, next) => inOneFrame(lostBetween(last, next)),
  };
}

interface FrameToPut {
  readonly draft: Draft;
  readonly behind: LogPosition;
  readonly firstSliceSeq: number;
}

interface Publisher {
  /** Stores a frame after a position. Resolves with its sequence. @throws Refused, NatsError, Unavailable */
  readonly publish: (subject: string, frame: FrameToPut) => Promise<number>;
  /** Waits until NATS can be asked again. @throws Unavailable when another attempt cannot help, or the log is closed. */
  readonly waitForNats: (error: unknown) => Promise<void>;
  /** Reads the position of the log's end, and repeats that while NATS is unavailable. */
  readonly readPosition: () => Promise<LogPosition>;
}

function createPublisher(options: ChainOptions): Publisher {
  const { client, writer, closing } = options;

  const waitForNats = async (error: unknown): Promise<void> => {
    const isFinal = (error instanceof Refused && !error.mayPass) || isForbidden(error);
    if (isFinal || closing.aborted) throw unavailable('the event log cannot be written right now', error);
    if (isStreamAway(error)) await options.recreateStream().catch(nothing);
    await client.connected(closing);
  };

  return {
    waitForNats,

    publish: async (subject, { draft, behind: { lastSeq, origin }, firstSliceSeq }) => {
      const headers = createHeaders();
      headers.set('Nats-Expected-Last-Subject-Sequence', String(lastSeq));
      const reply = await client.request(subject, toPayload({ ...draft, firstSliceSeq, origin, writer }), { headers });
      const { error, seq: stored } = reply.json<PublishReply>();
      if (error || stored === undefined) throw new Refused(error);
      return stored;
    },

    readPosition: async () =>
      retry(options.readPosition, {
        ...steadily(retryMs),
        signal: closing,
        mayHelp: () => true,
        onRetry: waitForNats,
      }),
  };
}

const isSame = (found: Frame, { first, last, slice, slices }: Draft): boolean =>
  found.first === first && found.last === last && found.slice === slice && found.slices === slices;

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
