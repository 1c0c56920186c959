import test from 'ava';
import type { Row, Session, Statement } from '../client/client.ts';
import { readNewest } from './log.ts';
import type { Layout } from './rows.ts';

const MiB = 1024 * 1024;

/** A log of 2,000 messages of 1 MiB, the newest 200 of which are small. */
const layout: Layout = {
  life: '',
  generation: 0,
  context: [[0, 1999]],
  rolledTo: 0,
  width: 1000,
  hasOverlays: false,
  wasCut: false,
  edits: 0,
  top: 2000,
  rows: 2000,
  bytes: 1800 * MiB,
  largest: MiB,
  slots: [],
  listedAt: 0,
};

test('what is read at once of a context stays within bounds, however small its newest messages are', async (t) => {
  let largest = 0;
  const large = Buffer.alloc(MiB);
  const read = async ({ params }: Statement): Promise<readonly Row[]> => {
    const rows = (params[2] as bigint[]).map((n) => ({
      n,
      message_id: String(n),
      json: n < 1800n ? large : Buffer.from('{}'),
    }));
    largest = Math.max(
      largest,
      rows.reduce((sum, { json }) => sum + json.length, 0),
    );
    return Promise.resolve(rows);
  };
  const key = { owner: 'u:ada', threadId: 't1' };
  const log = { key, layout };
  const { entries } = await readNewest({ read } as unknown as Session, log, layout.context, 12 * MiB);
  t.is(entries.length, 211);
  t.true(largest <= 16 * MiB, `${String(largest)} bytes in one read`);
});
