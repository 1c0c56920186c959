import { jsonBytes } from '../http/json.ts';
import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';

/** What somebody did with what belongs to somebody else. The id of the line says when. */
export interface AuditLine {
  /** The owner key of who did it, and the roles that they had. */
  readonly who: string;
  readonly roles: readonly string[];
  /** Of the API key by which they came; absent where they came by none. */
  readonly keyId?: string | undefined;
  readonly action: 'read' | 'stop' | 'retry' | 'answer';
  /** What was read or changed, as `state`; by the name of the operation. */
  readonly operation: string;
  /** The owner key of whom it belongs to. */
  readonly of: string;
  readonly runId?: string | undefined;
  readonly threadId?: string | undefined;
  /** Why, in words of who did it. */
  readonly reason: string;
  readonly requestId: string;
}

/** A line as it is on record. Its id is a UUIDv7. */
export interface StoredLine {
  readonly id: string;
  readonly json: Uint8Array;
}

/** A day has an owner of its own, which is no user's: no partition of a store takes all lines. */
const dayOf = (at: number): string => `audit/${new Date(at).toISOString().slice(0, 10)}`;

const dayMs = 24 * 3600 * 1000;

/**
 * Puts a line on record. It is written before what it is about is shown or done; nothing changes or removes it later.
 * @throws Unavailable when it cannot be written: then nothing is to be shown or done.
 */
export async function appendLine(
  threads: Pick<ResourceCalls, 'putResource'>,
  { id, line }: { readonly id: string; readonly line: AuditLine },
  call: Call,
): Promise<void> {
  const json = jsonBytes(line);
  await threads.putResource({ kind: 'audit', owner: dayOf(timeOf(id)), id, version: 1, json, attemptId: id }, call);
}

/** Lines that one request reads. */
const linesAtOnce = 500;

interface Range {
  /** Milliseconds since 1970: lines from this time on, and before that one. */
  readonly from: number;
  readonly to: number;
  /** Only lines before this one. */
  readonly before?: string | undefined;
}

/** The lines of a time, the newest first. Each day in it is asked for. */
export async function* readLines(
  threads: Pick<ResourceCalls, 'listResources'>,
  { from, to, before }: Range,
  call: () => Call,
): AsyncGenerator<StoredLine> {
  for (let day = startOfDay(to - 1); day > from - dayMs; day -= dayMs) {
    let cursor: string | undefined;
    do {
      const page = await threads.listResources(
        {
          ...{
            kind: 'audit',
            owner: dayOf(day),
            limit: linesAtOnce,
            belowId: before ?? firstId(to),
            fromId: firstId(from),
          },
          ...(cursor !== undefined && { cursor }),
        },
        call(),
      );
      yield* page.resources;
      ({ cursor } = page);
    } while (cursor !== undefined);
  }
}

/** When a line was made, in milliseconds since 1970, as its id says. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

const startOfDay = (at: number): number => Math.floor(at / dayMs) * dayMs;

/** The id before which those of a millisecond and later do not come. */
function firstId(at: number): string {
  const hex = at.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
