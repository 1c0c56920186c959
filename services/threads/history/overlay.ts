import type { LogEntry, UndoSink } from '../ports/port.ts';
import { decodeUndo, type Mark, type Undo } from './undo.ts';

/** What was at a position of the log. */
export interface Place {
  /** Absent while only the context has changed there: the entry is the one that stands there now. */
  readonly entry?: LogEntry;
  readonly inContext: boolean;
}

/**
 * How a thread differed at an earlier version from what its rows say: what the undos of every version above it come to. Rows
 * may be read before the undos, and at several moments: whatever has changed in them since then, an undo tells.
 */
export interface Overlay {
  /** `undefined` when no version is above: the head's own then. */
  readonly mark: Mark | undefined;
  readonly fields: ReadonlyMap<string, Uint8Array | undefined>;
  readonly places: ReadonlyMap<number, Place>;
}

export interface OverlayBuilder extends Overlay {
  /** Goes one version back. */
  readonly apply: (undo: Undo) => void;
}

/** Begins at the present; undos are applied from the newest down, so that the oldest that speaks of a row decides. */
export function createOverlay(): OverlayBuilder {
  let mark: Mark | undefined;
  const fields = new Map<string, Uint8Array | undefined>();
  const places = new Map<number, Place>();
  return {
    get mark() {
      return mark;
    },
    fields,
    places,
    apply: (undo) => {
      mark = undo.mark;
      for (const [name, json] of undo.fields) fields.set(name, json);
      for (const position of undo.removed)
        if (position < undo.mark.nextPosition) places.set(position, { ...places.get(position), inContext: true });
      for (const { inContext, ...entry } of undo.entries) places.set(entry.position, { entry, inContext });
      for (const position of places.keys()) if (position >= undo.mark.nextPosition) places.delete(position);
    },
  };
}

/** What all undos of a run come to. */
export interface Undone extends UndoSink {
  readonly overlay: Overlay;
  /** The version of the oldest undo taken in; `undefined` before the first. */
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
