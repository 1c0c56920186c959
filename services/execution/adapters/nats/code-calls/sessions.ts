import { maxReduceBytes, noWorker, refuseLargeCall } from '../../code-call-errors.ts';
import type { Reduce, ReduceRequest } from '../../../ports/code-calls.ts';
import { fromCallText, toErrorText, toReplyText } from './texts.ts';

/** One call that a worker has taken: its parts arrive, it is executed, and its reply is read part by part. */
export interface Session {
  /** Adds the part at this offset. `false`: it is not the next one, or there is too much. */
  readonly add: (at: number, part: Uint8Array) => boolean;
  /** The reply, once there is one. */
  readonly reply: () => Buffer | undefined;
  /** Resolves when there is a reply or the session has ended, or after `ms`. */
  readonly settled: (ms: number) => Promise<void>;
  /** Ends the work, and the session. A second call does nothing. */
  readonly end: () => void;
}

interface SessionOptions {
  readonly total: number;
  /** When the caller stops waiting, in milliseconds from now. */
  readonly leftMs: number;
  readonly reduce: Reduce;
  readonly isHeld: (request: ReduceRequest) => boolean;
  readonly onEnd: () => void;
}

/** A caller that asks for nothing for so long is gone, in milliseconds. */
const idleMs = 10_000;

export function openSession({ total, leftMs, reduce, isHeld, onEnd }: SessionOptions): Session {
  const ending = new AbortController();
  const { signal } = ending;
  const parts: Uint8Array[] = [];
  const settled = Promise.withResolvers<undefined>();
  let bytes = 0;
  let reply: Buffer | undefined;

  const end = (): void => {
    if (signal.aborted) return;
    clearTimeout(atDeadline);
    clearTimeout(whenIdle);
    ending.abort(new Error('the call has ended'));
    settled.resolve(undefined);
    onEnd();
  };
  const atDeadline = setTimeout(end, Math.min(leftMs, longestMs));
  const whenIdle = setTimeout(end, idleMs);

  const execute = async (): Promise<Buffer> => {
    const request = fromCallText(Buffer.concat(parts.splice(0)));
    if (!isHeld(request)) throw noWorker(request);
    const text = toReplyText(await reduce(request, signal));
    refuseLargeCall(text.byteLength);
    return text;
  };

  return {
    add: (at, part) => {
      whenIdle.refresh();
      if (at !== bytes || bytes + part.byteLength > total || part.byteLength === 0) return false;
      parts.push(Uint8Array.from(part));
      bytes += part.byteLength;
      if (bytes === total)
        void execute()
          .catch(toErrorText)
          .then((text) => {
            reply = text;
            settled.resolve(undefined);
          });
      return true;
    },
    reply: () => {
      whenIdle.refresh();
      return reply;
    },
    settled: async (ms) => {
      const late = Promise.withResolvers<undefined>();
      const timer = setTimeout(late.resolve, ms, undefined);
      await Promise.race([settled.promise, late.promise]);
      clearTimeout(timer);
    },
    end,
  };
}

const longestMs = 2 ** 31 - 1;

/** Whether a call of so many bytes may be taken at all. */
export const isCallSize = (total: number): boolean => total > 0 && total <= maxReduceBytes;
