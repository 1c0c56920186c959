import { threadText } from '@agent-workflow/kit/ids';
import { isOpen } from '@agent-workflow/protos/lists';
import { LRUCache } from 'lru-cache';
import type { Change, Reads, Snapshot } from '../../../ports/changes.ts';
import type { RunRecord, ThreadKey } from '../../../ports/record.ts';
import type { Row } from '../client/client.ts';
import { fromBlob, fromHead, fromLayout, fromRun, fromStamps, nothing, toRun, toSeen } from '../rows/rows.ts';
import type { Plan } from './plan.ts';
import type { Sight } from './snapshot.ts';

/**
 * What this process has last written of threads that are held by a run: mostly it makes the next change of such a thread, too, and need not
 * read for it. What is known may be outdated. The condition of what is written finds that out, and the thread is read then.
 */
export interface Recent {
  /** What a change needs to see; `undefined` where not all of it is known. */
  readonly recall: (key: ThreadKey, reads: Reads) => Sight | undefined;
  /** A change of what was seen has been written. */
  readonly keep: (key: ThreadKey, written: Written) => void;
  /** What is known was of no use. With `isShared` others write this thread, too: it is not kept again for a while. */
  readonly drop: (key: ThreadKey, isShared: boolean) => void;
}

interface Written {
  readonly sight: Sight;
  readonly reads: Reads;
  readonly change: Change;
  readonly plan: Plan;
}

/** Rows as they would be read. */
interface Known {
  readonly head: Row;
  readonly runs: ReadonlyMap<string, Row>;
  /** Values by name; empty ones stand for fields that are not set. */
  readonly fields: ReadonlyMap<string, Buffer>;
  /** Whether fields of other names are not set. */
  readonly hasAllFields: boolean;
  readonly bytes: number;
}

/** Bounds of what is kept in all, and of one thread, in bytes: large threads are read again. */
const maxBytes = 8 * 1024 * 1024;
const maxThreadBytes = 64 * 1024;
/** About what a thread takes beside its values. */
const restBytes = 1024;
/** Threads that are known to be written by others, and for how long, in milliseconds. */
const maxShared = 10_000;
const sharedMs = 60_000;

export function createRecent(): Recent {
  const threads = new LRUCache<string, Known>({ maxSize: maxBytes, sizeCalculation: ({ bytes }) => bytes });
  const shared = new LRUCache<string, true>({ max: maxShared, ttl: sharedMs });
  return {
    recall: (key, reads) => {
      const known = threads.get(threadText(key));
      return known && recalled(known, reads);
    },
    keep: (key, written) => {
      const name = threadText(key);
      const isOfUse = written.plan.head.activeRun !== undefined && !shared.has(name) && !isLarge(written);
      const known = isOfUse ? after(threads.get(name), written) : undefined;
      if (known && known.bytes <= maxThreadBytes) threads.set(name, known);
      else threads.delete(name);
    },
    drop: (key, isShared) => {
      if (threads.delete(threadText(key)) && isShared) shared.set(threadText(key), true);
    },
  };
}

function recalled(known: Known, reads: Reads): Sight | undefined {
  const {
    runs = [],
    messages = [],
    fields = [],
    activeRun,
    interruptedRun,
    context,
    undosOfActiveRun,
    toolCall,
    isFenced,
  } = reads;
  if (!isFenced || messages.length > 0 || fields === 'all') return undefined;
  if (activeRun || interruptedRun || context || undosOfActiveRun || toolCall) return undefined;
  if (!runs.every((id) => known.runs.has(id))) return undefined;
  if (!fields.every((name) => known.hasAllFields || known.fields.has(name))) return undefined;
  const values = fields.flatMap((name) => {
    const value = known.fields.get(name) ?? nothing;
    return value.length === 0 ? [] : [[name, fromBlob(value)] as const];
  });
  const seen = toSeen(known.head);
  return {
    seen,
    snapshot: {
      head: seen.head,
      runs: new Map(runs.map((id) => [id, toRun(known.runs.get(id) as Row)])),
      entries: new Map(),
      fields: Object.fromEntries(values),
      context: [],
    },
    isSteady: false,
  };
}

/** Whether what was written is too large to be kept: it is not copied for nothing. */
const isLarge = ({ plan: { head }, change }: Written): boolean =>
  [head.metadata, head.progress, ...Object.values(change.fields ?? {})].reduce(
    (sum, bytes) => sum + (bytes?.byteLength ?? 0),
    0,
  ) > maxThreadBytes;

/** What is known after a change. */
function after(before: Known | undefined, { sight, reads, change, plan }: Written): Known {
  const { seen, snapshot } = sight;
  const base = before && String(before.head['stamp']) === seen.stamp ? before : undefined;
  const isEmpty = change.clearState === true || seen.head === undefined;
  const read = isEmpty || !Array.isArray(reads.fields) ? [] : (reads.fields as readonly string[]);
  const fields = new Map([
    ...(isEmpty ? [] : (base?.fields ?? [])),
    ...read.map((name) => [name, copyOf(valueOf(snapshot, name))] as const),
    ...Object.entries(change.fields ?? {}).map(([name, value]) => [name, copyOf(value)] as const),
  ]);
  const records = [...snapshot.runs.values(), ...plan.runs].filter(({ status }) => isOpen(status));
  const open = new Set([plan.head.activeRun, ...plan.head.queue]);
  const runs = new Map(
    [...(base?.runs ?? []), ...records.map((run) => [run.runId, rowOf(run)] as const)].filter(([id]) => open.has(id)),
  );
  for (const { runId, status } of plan.runs) if (!isOpen(status)) runs.delete(runId);
  const head = {
    stamp: plan.stamp,
    past: copyOf(fromStamps(seen.stamp === undefined ? [] : [seen.stamp, ...seen.past])),
    ...{ head: fromHead(plan.head), layout: fromLayout(plan.layout) },
    ...{ metadata: copyOf(plan.head.metadata), progress: copyOf(plan.head.progress) },
  };
  const bytes = [head, ...runs.values()].reduce((sum, row) => sum + bytesOf(row), restBytes);
  return {
    ...{ head, runs, fields, hasAllFields: isEmpty || base?.hasAllFields === true },
    bytes: [...fields].reduce((sum, [name, value]) => sum + name.length + value.length, bytes),
  };
}

const valueOf = ({ fields }: Snapshot, name: string): Uint8Array | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** A copy in memory of its own: a part of a message, or of Node's pool, would keep the whole of that. */
function copyOf(bytes: Uint8Array | undefined): Buffer {
  if (!bytes || bytes.byteLength === 0) return nothing;
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  copy.set(bytes);
  return copy;
}

const rowOf = (run: RunRecord): Row => ({
  ...{ run: fromRun(run), options: copyOf(run.options), input: copyOf(run.input) },
});

const bytesOf = (row: Row): number =>
  Object.values(row).reduce<number>((sum, value) => sum + ((value as Partial<Buffer> | undefined)?.length ?? 0), 0);
