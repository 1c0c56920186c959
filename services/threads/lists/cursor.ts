import { invalid } from '@agent-workflow/kit/errors';
import type { DueMark } from '../ports/files.ts';
import type { RecencyMark, RunMark } from '../ports/lists.ts';

/** A cursor is opaque to callers: base64url of what the next page begins after. */
const encode = (mark: readonly (string | number)[]): string => Buffer.from(JSON.stringify(mark)).toString('base64url');

function decode(cursor: string): unknown[] {
  try {
    const mark: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(mark)) return mark;
  } catch {
    // Not one of ours: refused below like any other.
  }
  return [];
}

const refuse = (): Error => invalid(['cursor'], 'is not a cursor that a list gave', 'cursor');

export const toThreadsCursor = ({ updatedAt, threadId }: RecencyMark): string => encode([updatedAt, threadId]);

/** @throws Invalid for a text that {@link toThreadsCursor} never gave. */
export function fromThreadsCursor(cursor: string): RecencyMark {
  const [updatedAt, threadId, ...rest] = decode(cursor);
  if (!Number.isSafeInteger(updatedAt) || typeof threadId !== 'string' || rest.length > 0) throw refuse();
  return { updatedAt: updatedAt as number, threadId };
}

export const toMessagesCursor = (position: number): string => encode([position]);

/** @throws Invalid for a text that {@link toMessagesCursor} never gave. */
export function fromMessagesCursor(cursor: string): number {
  const [position, ...rest] = decode(cursor);
  if (!Number.isSafeInteger(position) || rest.length > 0) throw refuse();
  return position as number;
}

export const toCheckpointsCursor = (version: number): string => encode([version]);

/** @throws Invalid for a text that {@link toCheckpointsCursor} never gave. */
export const fromCheckpointsCursor = fromMessagesCursor;

export const toRunsCursor = ({ createdAt, runId }: RunMark): string => encode([createdAt, runId]);

/** @throws Invalid for a text that {@link toRunsCursor} never gave. */
export function fromRunsCursor(cursor: string): RunMark {
  const { updatedAt: createdAt, threadId: runId } = fromThreadsCursor(cursor);
  return { createdAt, runId };
}

export const toDueCursor = ({ dueAt, fileId }: DueMark): string => encode([dueAt, fileId]);

/** @throws Invalid for a text that {@link toDueCursor} never gave. */
export function fromDueCursor(cursor: string): DueMark {
  const { updatedAt: dueAt, threadId: fileId } = fromThreadsCursor(cursor);
  return { dueAt, fileId };
}
