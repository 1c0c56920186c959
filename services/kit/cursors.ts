import { createHash } from 'node:crypto';
import { invalid } from './errors.ts';

/**
 * Which list a cursor belongs to: the list's name, then JSON values of all that decides what is in it and in which order: the owner, the
 * thread, the filters.
 */
type ListIdentity = readonly [name: string, ...selection: readonly unknown[]];

/** The cursors of one list. A mark names an item: the next page begins after it. */
export interface Cursors<Mark> {
  /** Opaque to callers: letters, digits, `-` and `_`. */
  readonly toCursor: (mark: Mark) => string;
  /** @throws Invalid at `cursor` for a text that this list did not give. */
  readonly fromCursor: (cursor: string) => Mark;
}

/** Cursors of a list whose order is that of a safe integer. */
export function cursorsByNumber(list: ListIdentity): Cursors<number> {
  const { write, read } = textsOf(list);
  return {
    toCursor: (mark) => write([mark]),
    fromCursor: (cursor) => {
      const [mark, ...others] = read(cursor);
      if (!Number.isSafeInteger(mark) || others.length > 0) throw foreign();
      return mark as number;
    },
  };
}

interface TimeMarks<Mark> {
  readonly toParts: (mark: Mark) => readonly [time: number, id: string];
  readonly fromParts: (time: number, id: string) => Mark;
}

/** Cursors of a list whose order is that of a time in milliseconds, then of an id. */
export function cursorsByTime<Mark>(list: ListIdentity, { toParts, fromParts }: TimeMarks<Mark>): Cursors<Mark> {
  const { write, read } = textsOf(list);
  return {
    toCursor: (mark) => write(toParts(mark)),
    fromCursor: (cursor) => {
      const [time, id, ...others] = read(cursor);
      if (!Number.isSafeInteger(time) || typeof id !== 'string' || others.length > 0) throw foreign();
      return fromParts(time as number, id);
    },
  };
}

const foreign = (): Error => invalid(['cursor'], 'is not a cursor that this list gave', 'cursor');

interface Texts {
  readonly write: (parts: readonly (string | number)[]) => string;
  /** @throws Invalid for a text that `write` did not make for this list. */
  readonly read: (cursor: string) => readonly unknown[];
}

/** A cursor is the base64url of a JSON array: a hash of the list's identity, then the parts of the mark. */
function textsOf(identity: ListIdentity): Texts {
  const list = createHash('sha256').update(JSON.stringify(identity)).digest('base64url').slice(0, 16);
  return {
    write: (parts) => Buffer.from(JSON.stringify([list, ...parts])).toString('base64url'),
    read: (cursor) => {
      const [listOfCursor, ...parts] = arrayIn(cursor);
      if (listOfCursor !== list) throw foreign();
      return parts;
    },
  };
}

function arrayIn(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(value)) return value;
  } catch {
    // No list gave it: it is refused like the cursor of another list.
  }
  return [];
}
