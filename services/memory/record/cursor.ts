import { invalid } from '@agent-workflow/kit/errors';
import type { ListMark } from '../ports/port.ts';

/** A cursor is opaque to callers: base64url of the last memory's place in the order. */
export const toCursor = ({ timestamp, memoryId }: ListMark): string =>
  Buffer.from(JSON.stringify([timestamp, memoryId])).toString('base64url');

/** @throws Invalid for a text that {@link toCursor} never gave. */
export function fromCursor(cursor: string): ListMark {
  const [timestamp, memoryId] = decode(cursor);
  if (Number.isSafeInteger(timestamp) && typeof memoryId === 'string') {
    return { timestamp: timestamp as number, memoryId };
  }
  throw invalid(['cursor'], 'is not a cursor that a list gave', 'cursor');
}

function decode(cursor: string): unknown[] {
  try {
    const mark: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(mark)) return mark;
  } catch {
    // Not one of ours: refused by the caller like any other.
  }
  return [];
}
