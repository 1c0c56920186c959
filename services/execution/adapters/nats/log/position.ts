import { endsLog, lastWhole, type StoredFrame } from './frame.ts';

/** The position of a log's end in the stream: what the next frame must follow. */
export interface LogPosition {
  /** Sequence of the last frame in the stream; 0 when there is none. */
  readonly streamSeq: number;
  /** Sequence of the last message of the log's subject, also of one that is no frame; 0 when there is none. The next frame names it. */
  readonly lastSeq: number;
  /** Number of the last whole event. */
  readonly last: number;
  readonly ended: boolean;
  /** The log begins after this sequence. */
  readonly origin: number;
  /** The last frame itself, where there is one. */
  readonly frame: StoredFrame | undefined;
}

/** The position in a log of which no frame is stored, or none is found: the log begins after the last message of its subject, `lastSeq`. */
export const emptyAt = (lastSeq: number): LogPosition => ({
  ...{ streamSeq: 0, lastSeq, last: 0, ended: false, origin: lastSeq },
  frame: undefined,
});

export const nothingStored = emptyAt(0);

/** The position after a log's last frame. A log that ended longer ago than `retentionMs` counts as never written. */
export function positionAt(frame: StoredFrame, lastSeq: number, retentionMs: number): LogPosition {
  const { streamSeq } = frame;
  const ended = endsLog(frame);
  if (ended && Date.now() - frame.at > retentionMs)
    return { streamSeq, lastSeq, last: 0, ended: false, origin: streamSeq, frame };
  return { streamSeq, lastSeq, last: lastWhole(frame), ended, origin: frame.origin, frame };
}
