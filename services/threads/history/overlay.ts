import type { UndoSink } from '../ports/changes.ts';
import type { LogEntry } from '../ports/record.ts';
import { decodeUndo, type Mark, type Undo } from './undo.ts';

/** What was at a position of the log. */
export interface Place {
  /** Absent while only the context has changed there: the entry is the one that stands there now. */
  readonly entry?: LogEntry;
  readonly inContext: boolean;
  /** Whether there was no message. */
  readonly isAbsent?: true;
}

/**
 * How a thread differed at an earlier version from its present rows: the sum of the undo records of every version above it. Rows
 * may be read before the undo records, and at several moments: a change made since then has an undo record of its own.
 */
export interface Overlay {
  /** `undefined` when no version is above: the head's own then. */
  readonly mark: Mark | undefined;
  readonly fields: ReadonlyMap<string, Uint8Array | undefined>;
  readonly places: ReadonlyMap<number, Place>;
}

interface OverlayBuilder extends Overlay {
  /** Goes one version back. */
  readonly apply: (undo: Undo) => void;
}

/** Starts at the present. Undo records are applied from the newest down, so that the oldest that names a row decides. */
export function createOverlay(): OverlayBuilder {
  const fields = new Map<string, Uint8Array | undefined>();
  const places = new Map<number, Place>();
  const overlay: OverlayBuilder & { mark: Mark | undefined } = {
    mark: undefined,
    fields,
    places,
    apply: (undo) => {
      overlay.mark = undo.mark;
      for (const [name, json] of undo.fields) fields.set(name, json);
      for (const position of undo.removed)
        if (position < undo.mark.nextPosition) places.set(position, { ...places.get(position), inContext: true });
      for (const { inContext, ...entry } of undo.entries) places.set(entry.position, { entry, inContext });
      for (const position of undo.absent ?? []) places.set(position, { inContext: false, isAbsent: true });
      for (const position of places.keys()) if (position >= undo.mark.nextPosition) places.delete(position);
    },
  };
  return overlay;
}

/** The sum of the undo records of a run. */
export interface Undone extends UndoSink {
  readonly overlay: Overlay;
  /** The version of the oldest undo record added; `undefined` before the first. */
  readonly oldest: () => number | undefined;
}

export function gatherUndos(): Undone {
  const overlay = createOverlay();
  let oldest: number | undefined;
  return {
    overlay,
    oldest: () => oldest,
    add: ({ version, undo }) => {
      overlay.apply(decodeUndo(undo));
      oldest = version;
    },
  };
}

/** The fields as they were. */
export function fieldsUnder(
  rows: Readonly<Record<string, Uint8Array>>,
  { fields }: Overlay,
): Record<string, Uint8Array> {
  const all = new Map<string, Uint8Array | undefined>([...Object.entries(rows), ...fields]);
  return Object.fromEntries([...all].flatMap(([name, json]) => (json ? [[name, json] as const] : [])));
}
