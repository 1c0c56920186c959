/** An event of AG-UI, before it is JSON. */
export interface AguiEvent {
  readonly type: string;
  readonly timestamp: number;
  readonly [field: string]: unknown;
}

/** Where a reader goes on: after the event of this place among those that one event of the run gave. */
export interface Place {
  readonly runId: string;
  readonly seq: number;
  readonly index: number;
}

const idText = ({ runId, seq, index }: Place): string => `${runId}:${String(seq)}.${String(index)}`;

/** The place in a `Last-Event-ID`; `undefined` for a text that is none. */
export function placeIn(id: string): Place | undefined {
  const colon = id.lastIndexOf(':');
  const [, seq, index] = /^(\d{1,15})\.(\d{1,9})$/.exec(id.slice(colon + 1)) ?? [];
  if (colon <= 0 || seq === undefined || index === undefined) return undefined;
  return { runId: id.slice(0, colon), seq: Number(seq), index: Number(index) };
}

/** The events that one event of a run gave, as server-sent ones: those after the place at which their reader goes on. */
export function encodeEvents(
  events: readonly AguiEvent[],
  { runId, seq, after }: { readonly runId: string; readonly seq: number; readonly after: Place | undefined },
): readonly Uint8Array[] {
  const first = after?.seq === seq ? after.index + 1 : 0;
  return events
    .slice(first)
    .map((event, at) =>
      Buffer.from(`id: ${idText({ runId, seq, index: first + at })}\ndata: ${JSON.stringify(event)}\n\n`),
    );
}
