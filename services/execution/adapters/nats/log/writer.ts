import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromUnknown, isServiceError, stale, unavailable } from '@agent-workflow/kit/errors';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import { headers as createHeaders } from 'nats';
import { follows } from '../../../ports/log-numbers.ts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { pause, type NatsClient } from '../client.ts';
import { endsRun, fromStored, joinDrafts, lastOf, takeBatch, toDrafts, type Draft, type Entry } from './drafts.ts';
import { lastWhole, toPayload, type Frame, type Layout, type StoredFrame } from './frame.ts';
import { isStreamAway } from '../streams.ts';

/** Where a log stands: what the next frame must follow. */
export interface Standing {
  /** Place of the last frame in the stream; 0 when there is none. */
  readonly seq: number;
  readonly last: number;
  readonly ended: boolean;
  readonly origin: number;
  /** The last frame itself, where there is one. */
  readonly frame: Frame | undefined;
}

export const nothingStored: Standing = { seq: 0, last: 0, ended: false, origin: 0, frame: undefined };

export interface WriterOptions {
  readonly client: NatsClient;
  readonly runId: string;
  readonly subject: string;
  /** Who writes: tells the own frames from those of another replica. */
  readonly writer: string;
  /** Where the log stands, as the stream's leader has it. */
  readonly look: () => Promise<Standing>;
  /** Makes the stream again when it is missing, and notices when it is there anew. */
  readonly restoreStream: () => Promise<void>;
  /** Keeps what others have written of the run up to there, so that it can be put back with what follows it here. */
  readonly recall: (standing: Standing) => Promise<void>;
  /** The newest frames above an event number, to be put back when the stream has lost them. */
  readonly kept: (last: number) => readonly StoredFrame[];
  readonly onStored: (frame: StoredFrame, batch: EventBatch) => void;
  /** How frames are to be laid out from now on. */
  readonly layout: () => Layout;
  /** Counts the bytes that wait to be written, of all runs; gives whether there is room for them. */
  readonly count: (bytes: number) => boolean;
  readonly closing: AbortSignal;
}

/** Writes one run's events, one frame at a time: each names the place of the one before it. */
export interface Writer {
  readonly append: (after: number, batch: EventBatch) => Promise<void>;
  /** The last number that waits to be written; `undefined` when nothing waits. */
  readonly queuedLast: () => number | undefined;
  /** Whether a last event waits to be written. */
  readonly isEnding: () => boolean;
  /** Puts back what the stream has lost of the run, as far as it is kept here. */
  readonly putBack: () => void;
  /** Resolves when nothing waits any more. */
  readonly settled: () => Promise<void>;
}

/** Events of one run go out at once when none went lately, and otherwise share a frame for so long, in milliseconds. */
const gapMs = 4;
/** What one frame may hold: well under what a server takes in one message. */
const maxFrameBytes = 512 * 1024;
const headRoom = 4096;

export function createWriter(options: WriterOptions): Writer {
  const { client, runId, count } = options;
  const frameBytes = Math.min(maxFrameBytes, (client.connection.info?.max_payload ?? Infinity) - headRoom);
  const entries: Entry[] = [];
  const chain = createChain(options, frameBytes);
  let batch: readonly Entry[] = [];
  let running: Promise<void> | undefined;
  let sentAt = -Infinity;
  let mayBeLost = false;
  /** Whether events were given up: what comes behind them is refused too, but not because of another worker. */
  let hasDropped = false;
  let hurry: () => void = nothing;

  const isUrgent = (): boolean => {
    let bytes = 0;
    for (const entry of entries) bytes += entry.bytes;
    return bytes >= frameBytes || entries.some(endsRun) || options.closing.aborted;
  };

  /** Waits for what comes in the same turn, and until the last frame is long enough ago. */
  const gather = async (): Promise<void> => {
    await nextTurn();
    const wait = sentAt + gapMs - performance.now();
    if (wait <= 0 || isUrgent()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait);
      hurry = () => {
        if (!isUrgent()) return;
        clearTimeout(timer);
        resolve();
      };
    });
    hurry = nothing;
  };

  const writeNext = async (): Promise<void> => {
    const [first] = entries;
    if (!first) return;
    if (!(await chain.canFollow(first.after))) {
      const right = entries.findIndex((entry) => chain.stands(entry.after));
      const error = hasDropped ? droppedError() : staleError(runId);
      for (const entry of entries.splice(0, right === -1 ? entries.length : right)) entry.done(error);
      return;
    }
    batch = takeBatch(entries, frameBytes);
    try {
      await chain.put(toDrafts(batch, frameBytes, options.layout()));
    } catch (error) {
      hasDropped ||= !isServiceError(error, 'Stale');
      for (const entry of batch) entry.done(fromUnknown(error));
    } finally {
      batch = [];
      sentAt = performance.now();
    }
  };

  const run = async (): Promise<void> => {
    while (entries.length > 0 || mayBeLost) {
      if (mayBeLost) {
        mayBeLost = false;
        await chain.putBack().catch(nothing);
      } else {
        await gather();
        await writeNext().catch((error: unknown) => {
          for (const entry of entries.splice(0)) entry.done(fromUnknown(error));
        });
      }
    }
    running = undefined;
  };

  return {
    append: async (after, { scope, events }) => {
      const bytes = events.reduce((sum, event) => sum + bytesOfEvent(event), 0);
      if (!count(bytes)) {
        hasDropped = true;
        throw droppedError();
      }
      await new Promise<void>((resolve, reject) => {
        let open = true;
        const done = (error?: Error): void => {
          if (open) count(-bytes);
          open = false;
          if (error === undefined) resolve();
          else reject(error);
        };
        entries.push({ scope, after, events, bytes, done });
        hurry();
        running ??= run();
      });
    },

    queuedLast: () => {
      const last = entries.at(-1) ?? batch.at(-1);
      return last && lastOf(last);
    },

    isEnding: () => entries.some(endsRun) || batch.some(endsRun),

    putBack: () => {
      if (!chain.hasWritten()) return;
      mayBeLost = true;
      running ??= run();
    },

    settled: async () => {
      hurry();
      await running;
    },
  };
}

const nothing = (): void => undefined;

const staleError = (runId: string): Error =>
  stale(`the log of run "${runId}" was lost, or has gone on without this worker`);

const droppedError = (): Error => unavailable('events were given up because the event log could not be written');

/** The frames that one writer has put behind one another. */
interface Chain {
  /** Whether the log's last number is `last` and the run not ended, as far as is known. */
  readonly stands: (last: number) => boolean;
  /** The same, the stream being asked before the answer is no. */
  readonly canFollow: (last: number) => Promise<boolean>;
  /** Writes the frames in order, each once. @throws Stale when another writer came in between. */
  readonly put: (drafts: readonly Draft[]) => Promise<void>;
  readonly hasWritten: () => boolean;
  readonly putBack: () => Promise<void>;
}

const retryMs = 100;

function createChain(options: WriterOptions, frameBytes: number): Chain {
  const { client, runId, subject, writer, kept, closing, onStored } = options;
  let standing: Standing | undefined;

  /** Waits until it makes sense to ask again. @throws Unavailable when it makes none, or the log is closed meanwhile. */
  const recover = async (error: unknown): Promise<void> => {
    const refused = error instanceof Refused && !error.mayPass;
    if (refused || closing.aborted) throw unavailable('the event log cannot be written right now', error);
    if (isStreamAway(error)) await options.restoreStream().catch(nothing);
    try {
      await client.connected(closing);
      await pause(retryMs, closing);
    } catch {
      throw unavailable('the event log is closed', error);
    }
  };

  /** Where the log stands; goes on asking while NATS is away. */
  const look = async (): Promise<Standing> => {
    for (;;) {
      try {
        return await options.look();
      } catch (error) {
        await recover(error);
      }
    }
  };

  const publish = async (draft: Draft, { seq, origin }: Standing, head: number): Promise<number> => {
    const headers = createHeaders();
    headers.set('Nats-Expected-Last-Subject-Sequence', String(seq));
    const reply = await client.request(subject, toPayload({ ...draft, head, origin, writer }), { headers });
    const { error, seq: place } = reply.json<PublishReply>();
    if (error || place === undefined) throw new Refused(error);
    return place;
  };

  /**
   * Writes a frame behind where the log stands, once: whenever it is not known whether it was stored, the stream is asked.
   * Gives its place, or where the log stands when the stream has lost what this writer wrote before.
   */
  const putOne = async (draft: Draft, head: number): Promise<number | Standing> => {
    for (;;) {
      const before = (standing ??= nothingStored);
      try {
        return await publish(draft, before, head);
      } catch (error) {
        if (!(error instanceof Refused && error.isWrongPlace)) await recover(error);
      }
      const found = await look();
      if (found.seq === before.seq) continue;
      if (found.frame && isSame(found.frame, draft) && found.frame.writer === writer) return found.seq;
      if (found.seq < before.seq && (!found.frame || found.frame.writer === writer)) {
        await options.restoreStream().catch(nothing);
        return found;
      }
      if (!follows(found.last, draft.first) || found.ended || draft.part > 1) throw staleError(runId);
      standing = found;
    }
  };

  const note = (draft: Draft, seq: number, head: number): void => {
    const origin = standing?.origin ?? 0;
    const frame: StoredFrame = { ...draft, seq, head, origin, writer, at: Date.now() };
    standing = { seq, last: lastWhole(frame), ended: draft.ended && draft.part === draft.parts, origin, frame };
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
      const place = await putOne(draft, head);
      if (typeof place === 'number') {
        note(draft, place, head);
        if (draft.part === 1) head = place;
        continue;
      }
      // A large event is begun again with its first part.
      list = [...withLost(place.last, list.slice(index - draft.part + 1, index + 1)), ...list.slice(index + 1)];
      index = -1;
      standing = place;
    }
  };

  /**
   * What the stream has lost above event number `last`, and a draft behind it, or the parts of a heavy event up to the one that comes
   * next. Whatever followers may have seen is one frame: a writer that dies meanwhile leaves all of it or nothing. A log of which
   * a part was put back would go on in numbers that followers have seen.
   * @throws Stale when that is more than a frame holds, or not all of it is kept.
   */
  const withLost = (last: number, drafts: readonly Draft[]): readonly Draft[] => {
    const [first] = drafts;
    if (!first) return [];
    const lost = lostBetween(last, first.first);
    if (first.parts === 1) return [inOneFrame([...lost, ...drafts])];
    // Of a heavy event nobody has seen anything before its last part is stored.
    if (drafts.length === first.parts) throw staleError(runId);
    return [...(lost.length > 0 ? [inOneFrame(lost)] : []), ...drafts];
  };

  const inOneFrame = (drafts: readonly Draft[]): Draft => {
    const joined = joinDrafts(drafts, frameBytes);
    if (!joined) throw staleError(runId);
    return joined;
  };

  /** The frames of the events above `last` and below `next`. @throws Stale when not all of them are kept: a log has no gap. */
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

  const stands = (last: number): boolean => standing?.last === last && !standing.ended;

  return {
    stands,

    canFollow: async (last) => {
      // The first frame of a run is tried at once: the server refuses it when there is another.
      if (!standing && last === 0) standing = nothingStored;
      if (stands(last)) return true;
      standing = await look();
      if (!stands(last)) return false;
      if (last > 0) await options.recall(standing).catch(nothing);
      return true;
    },

    put: async (drafts) => {
      try {
        await putAll(drafts);
      } catch (error) {
        standing = undefined;
        throw error;
      }
    },

    hasWritten: () => standing?.frame?.writer === writer && !standing.ended,

    putBack: async () => {
      const before = standing;
      const found = await look();
      if (!before || found.frame || found.seq >= before.seq) return;
      // What cannot be put back whole is not: what comes behind it is Stale.
      standing = found;
      await putAll([inOneFrame(lostBetween(found.last, before.last + 1))]);
    },
  };
}

const isSame = (found: Frame, { first, last, part, parts }: Draft): boolean =>
  found.first === first && found.last === last && found.part === part && found.parts === parts;

interface PublishReply {
  readonly seq?: number;
  readonly error?: { readonly code: number; readonly err_code: number; readonly description: string };
}

/** The place that a frame named is not that of the run's last one. */
const wrongPlaces: ReadonlySet<number> = new Set([10_071, 10_164]);
const serverBusy = 503;

/** JetStream's refusal to store a frame. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly isWrongPlace: boolean;
  /** Whether the same frame may be taken later. */
  readonly mayPass: boolean;

  constructor(error: PublishReply['error']) {
    super(error?.description ?? 'the answer is none of JetStream');
    this.isWrongPlace = wrongPlaces.has(error?.err_code ?? 0);
    this.mayPass = error === undefined || error.code === serverBusy;
  }
}
