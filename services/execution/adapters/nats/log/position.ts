import { endsLog, lastWhole, type StoredFrame } from './frame.ts';

/** The position of a log's end in the stream: what the next frame must follow. */
export interface LogPosition {
  /** Sequence of the last frame in the stream; 0 when there is none. */
  readonly streamSeq: number;
  /** Number of the last whole event. */
  readonly last: number;
  readonly ended: boolean;
  /** The log begins behind this sequence. */
  readonly origin: number;
  /** The last frame itself, where there is one. */
  readonly frame: StoredFrame | undefined;
}

export const nothingStored: LogPosition = { streamSeq: 0, last: 0, ended: false, origin: 0, frame: undefined };

/** The position behind a log's last frame. A log that ended longer ago than `retentionMs` counts as never written. */
export function positionAt(frame: StoredFrame, retentionMs: number): LogPosition {
  const ended = endsLog(frame);
  if (ended && Date.now() - frame.at > retentionMs)
    return { streamSeq: frame.streamSeq, last: 0, ended: false, origin: frame.streamSeq, frame };
  return { streamSeq: frame.streamSeq, last: lastWhole(frame), ended, origin: frame.origin, frame };
}
