import { randomUUID } from 'node:crypto';
import { eachOf } from '@agent-workflow/kit/each';
import { canBeRetried } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { documentsOf, scope } from './documents.ts';

/** A process that stores all documents, as an agent that loads them does, and prints a line for every hundred. */
const [address = '', count = '0', owner = ''] = process.argv.slice(2);
await using memory = connect('memory', address);
let stored = 0;
await eachOf(documentsOf(Number(count)), 16, async ({ key, content }) => {
  const note = { owner, content, memoryType: 'semantic', category: 'pages', metadataJson: Buffer.from('{}') } as const;
  const request = { ...note, memoryId: randomUUID(), scope, key };
  for (;;)
    try {
      await memory.store(request, within(60_000));
      break;
    } catch (error) {
      if (!canBeRetried(error)) throw error;
    }
  stored += 1;
  if (stored % 100 === 0) process.stdout.write(`${String(stored)}\n`);
});
