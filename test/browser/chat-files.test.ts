import { createClient } from '@agent-workflow/client';
import test from 'ava';
import { openPage } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'filing');

browserTest('a file that an agent wrote is linked by its name, which its record has', async (t) => {
  const client = createClient({ url: service.url() });
  const data = new Blob(['hello'], { type: 'text/plain' });
  const { file_id } = await client.files.upload({ data, filename: 'notes.txt' });
  await client.invoke({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'copy' },
          { type: 'document', file_id },
        ],
      },
    ],
    config: { thread_id: 'filed' },
  });
  const { page } = await openPage(t, `${service.url()}/playground#/chat/filed`);
  const link = page.getByRole('link', { name: 'copy-notes.txt' });
  t.is(await link.getAttribute('download'), 'copy-notes.txt');
  await page.getByRole('link', { name: 'notes.txt', exact: true }).waitFor();
});
