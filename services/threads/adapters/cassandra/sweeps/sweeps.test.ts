import test from 'ava';
import type { OpenRunsPage } from '../../../ports/sweeps.ts';
import type { RunRow } from '../../../ports/lists.ts';
import type { Row, Session, Statement } from '../client/client.ts';
import { createSweeps } from './sweeps.ts';

const now = 1_700_000_000_000;
const open = 1000;

const idOf = (index: number): string => `r${String(index).padStart(4, '0')}`;

/** A journal of so many open runs in one bucket, and how often a run is read. */
function sweepsOver() {
  const seen = { runs: 0 };
  const rowsOf = ({ cql, params }: Statement): readonly Row[] => {
    if (params[0] !== 'open') return [];
    if (cql.includes('journal_buckets')) return [{ bucket: BigInt(Math.floor(now / 30_000)) }];
    return Array.from({ length: open }, (_, index) => ({
      ...{ owner: 'u:ada', thread_id: `t${String(index)}`, id: idOf(index) },
      ...{ noted: true, written: BigInt(now) * 1000n },
    }));
  };
  const session = { readPage: async (statement: Statement) => Promise.resolve({ rows: rowsOf(statement) }) };
  const sweeps = createSweeps({
    session: session as unknown as Session,
    now: () => now,
    readHead: async () => Promise.reject(new Error('no head is read')),
    readRun: async ({ threadId }, runId) => {
      seen.runs++;
      const run = { runId, threadId, status: 'queued', createdAt: now, updatedAt: now };
      return Promise.resolve(run as unknown as RunRow);
    },
  });
  return { seen, sweeps };
}

for (const newestFirst of [false, true])
  test(`a sweep reads each open run about once, ${newestFirst ? 'the newest' : 'the oldest'} first`, async (t) => {
    const { seen, sweeps } = sweepsOver();
    const ids: string[] = [];
    // A page is asked for with one more, which says whether there is another.
    const limit = 101;
    for (let page: OpenRunsPage = { limit, newestFirst }; ; page = { ...page, after: ids.at(-1) }) {
      const runs = await sweeps.listOpenRuns(page);
      ids.push(...runs.slice(0, limit - 1).map(({ runId }) => runId));
      if (runs.length < limit) break;
    }
    const inOrder = Array.from({ length: open }, (_, index) => idOf(index));
    t.deepEqual(ids, newestFirst ? inOrder.toReversed() : inOrder);
    t.true(seen.runs <= open + open / 100, `${String(seen.runs)} reads`);
  });
