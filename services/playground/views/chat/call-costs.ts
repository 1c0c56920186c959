import { signal, type ReadonlySignal } from '@preact/signals';
import { client } from '../../session/session.ts';
import { costsIn, type CallCost } from './call-cost.ts';
import type { Entry } from './conversation.ts';
import { readsOf } from './checkpoint-reads.ts';
import { runAt, type Checkpoint } from './forks.ts';

/** The costs of calls by their ids, as far as they are known. */
export interface CallCosts {
  readonly known: ReadonlySignal<ReadonlyMap<string, CallCost>>;
  /** Reads the trace of the run that a message came with, once for all its calls. What cannot be read stays unknown. */
  readonly read: (entry: Entry) => void;
}

/** So many spans are read at once, and so many pages of them at most. */
const spansAtOnce = 200;
const maxPages = 10;

/** Of a thread of another owner, whose traces are not read. */
export const noCosts: CallCosts = { known: signal(new Map()), read: () => undefined };

/** The costs of the calls of one thread. They are read until `ended`. */
export function createCallCosts(threadId: ReadonlySignal<string | undefined>, ended: AbortSignal): CallCosts {
  const known = signal<ReadonlyMap<string, CallCost>>(new Map());
  /** The runs whose traces are read, or are being read. */
  const asked = new Set<string>();
  let versions: Promise<readonly Checkpoint[]> | undefined;

  /** The run that a message came with. The versions that name it are listed once, and again for one that came since. */
  const runOf = async ({ origin, checkpointId }: Entry): Promise<string | undefined> => {
    if (origin) return origin.runId;
    const find = async (): Promise<string | undefined> => {
      versions ??= readsOf(threadId.peek() ?? '').list();
      return runAt(checkpointId, await versions);
    };
    const found = versions && (await find());
    if (found === undefined) versions = undefined;
    return found ?? find();
  };
  /** Answers whether there is nothing more to be read of it. */
  const readRun = async (runId: string): Promise<boolean> => {
    let after: number | undefined;
    for (let pages = 0; pages < maxPages; pages++) {
      const query = { limit: spansAtOnce, ...(after !== undefined && { after }) };
      const page = await client.runs.trace(runId, query, { signal: ended });
      known.value = new Map([...known.peek(), ...costsIn(page.spans)]);
      if (!page.has_more || page.next_after === null) return page.ended_at !== null;
      after = page.next_after;
    }
    return true;
  };
  const read = async (entry: Entry): Promise<void> => {
    const runId = await runOf(entry);
    if (runId === undefined || asked.has(runId)) return;
    asked.add(runId);
    const isWhole = await readRun(runId).catch(() => false);
    if (!isWhole) asked.delete(runId);
  };
  return { known, read: (entry) => void read(entry).catch(() => undefined) };
}
