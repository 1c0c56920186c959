import test from 'ava';
import type { Row, Session } from './client/client.ts';
import { createHistory } from './reads.ts';

const key = { owner: 'u:ada', threadId: 't1' };
const KiB = 1024;

/** The pages in which the traces of so many steps are read, each with spans and content of so many bytes: its rows. */
async function pagesOfTraces(
  steps: number,
  sizeOf: (n: number) => { spans: number; content?: number },
): Promise<number[]> {
  const pages: number[] = [];
  const readPage: Session['readPage'] = ({ cql }, { rows: count, from = '0' }) => {
    const first = Number(from);
    const rows = Array.from({ length: Math.min(count, steps - first) }, (_, index): Row => {
      const { spans, content = 0 } = sizeOf(first + index);
      const trace = Buffer.alloc(spans);
      return {
        n: first + index,
        trace,
        ...(cql.includes('trace_content') && { trace_content: Buffer.alloc(content) }),
      };
    });
    pages.push(rows.length);
    const end = first + rows.length;
    return Promise.resolve({ rows, ...(end < steps && { next: String(end) }) });
  };
  const history = createHistory({ readPage } as unknown as Session);
  const range = { from: 0, to: steps, withContent: sizeOf(0).content !== undefined, bytes: 64 * KiB * KiB };
  const traces = await history.listTraces(key, range);
  return traces.length === steps ? pages : [];
}

test('traces of plain steps are read in few requests', async (t) => {
  t.deepEqual(await pagesOfTraces(200, () => ({ spans: 300 })), [4, 64, 64, 64, 4]);
});

test('traces that are large, or have large content, are read a few at a time', async (t) => {
  t.deepEqual(await pagesOfTraces(10, () => ({ spans: 256 * KiB })), [4, 3, 3]);
  t.deepEqual(await pagesOfTraces(6, () => ({ spans: 300, content: 512 * KiB })), [4, 1, 1]);
  t.deepEqual(await pagesOfTraces(50, () => ({ spans: 300, content: 300 })), [4, 16, 16, 14]);
});
