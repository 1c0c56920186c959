import { randomBytes } from 'node:crypto';
import test from 'ava';
import { deflate, deflateSmall, inflate } from './deflate.ts';

const json =
  '{"scope":{"runId":"r","threadId":"t","requestId":"q","isNewThread":true},"places":[{"kind":"metadata"},' +
  '{"kind":"error","node":"agent"}],"events":[[0,1,2],[1,1,50]]}\n{}{"code":"NODE_ERROR","message":"it broke","node":"agent"},' +
  '"state":{"context_summary":"","interrupts":[{"interrupt_id":"i"}]}';

/** The same as files have it. It can be read with the very dictionary that it was written with, and no other. */
const onDisk = 'w1L2g8IQqfAHBRxy6V9IUfEPreBRK3LM0ghUBoHKIlMDcPFRC0oU+JpCmSUKSUX52anoTYRaQskKf7MpE5QEAA==';

test('logs that are on disk can be read', (t) => {
  t.is(Buffer.from(inflate(Buffer.from(onDisk, 'base64'))).toString(), json);
});

test('what is deflated here or beside is inflated to the same bytes', async (t) => {
  for (const bytes of [Buffer.alloc(0), Buffer.from(json), randomBytes(100_000)]) {
    t.deepEqual(Buffer.from(inflate(deflateSmall(bytes))), bytes);
    t.deepEqual(Buffer.from(inflate(await deflate(bytes))), bytes);
  }
});
