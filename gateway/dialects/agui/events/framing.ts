import type { FramePlace } from '../../common/framed.ts';

/** An event of AG-UI, before it is JSON. */
export interface AguiEvent {
  readonly type: string;
  readonly timestamp: number;
  readonly [field: string]: unknown;
}

/** Where a reader goes on: in this run, behind one of the events that one event of the run gave. */
interface Place extends FramePlace {
  readonly runId: string;
  /** Which messages its stream begins with. */
  readonly shown: ShownMessages;
}

/**
 * Which messages of the thread a stream begins with: none, all that the run found (`m`), or where the page lacks some first those before the input and
 * then all (`b`), so that its own new ones stand behind them.
 */
export type ShownMessages = '' | 'm' | 'b';

/** The place behind the event of a `Last-Event-ID`; `undefined` for a text that is none. */
export function placeIn(id: string): Place | undefined {
  const colon = id.lastIndexOf(':');
  const [, seq, index, kind] = /^(\d{1,15})\.(\d{1,9})([mb]?)$/.exec(id.slice(colon + 1)) ?? [];
  if (colon <= 0 || seq === undefined || index === undefined) return undefined;
  const shown = kind as ShownMessages;
  return { runId: id.slice(0, colon), after: Number(seq) - 1, skipped: Number(index) + 1, shown };
}

interface Encoding {
  readonly runId: string;
  readonly seq: number;
  readonly skipped: number;
  readonly shown: ShownMessages;
}

/**
 * The events that one event of a run gave, as server-sent ones, without those that the reader has. Ids are `{run}:{number}.{index}`, and behind
 * that what the stream shows of the messages of the thread.
 */
export const encodeEvents = (
  events: readonly AguiEvent[],
  { runId, seq, skipped, shown }: Encoding,
): readonly Uint8Array[] =>
  events.slice(skipped).map((event, at) => {
    const id = `${runId}:${String(seq)}.${String(skipped + at)}${shown}`;
    return Buffer.from(`id: ${id}\ndata: ${JSON.stringify(event)}\n\n`);
  });
