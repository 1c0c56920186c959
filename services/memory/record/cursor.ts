import { invalid } from '@agent-workflow/kit/errors';
import type { ListPosition } from '../ports/records.ts';

/** A cursor is opaque to callers: base64url of the last memory's position in the order. */
export const toCursor = ({ timestamp, memoryId }: ListPosition): string =>
  Buffer.from(JSON.stringify([timestamp, memoryId])).toString('base64url');

/** @throws Invalid for a text that {@link toCursor} did not make. */
export function fromCursor(cursor: string): ListPosition {
  const [timestamp, memoryId] = decode(cursor);
  if (Number.isSafeInteger(timestamp) && typeof memoryId === 'string') {
    return { timestamp: timestamp as number, memoryId };
  }
  throw invalid(['cursor'], 'is not a cursor that a list gave', 'cursor');
}

function decode(cursor: string): unknown[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(position)) return position;
  } catch {
    // The caller refuses it like any other text that is no cursor.
  }
  return [];
}
