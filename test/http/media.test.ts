import test from 'ava';
import { startThinkingChat } from '../servers/thinking-chat.ts';
import { serve } from './service.ts';

const { url, send } = serve(test, 'thinking');

/** One pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const asPart = { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } };

async function upload(): Promise<string> {
  const form = new FormData();
  form.append('file', new File([png], 'cat.png', { type: 'image/png' }));
  const response = await fetch(`${url()}/v1/files/upload`, { method: 'POST', body: form });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly data: { readonly file_id: string } }).data.file_id;
}

// dify#41684.
test('an image of a user reaches the model as a part, by its file, its data or its address, and a file that is gone as words', async (t) => {
  await using provider = await startThinkingChat({ strict: false });
  const config = { thread_id: 'pictures', model_url: provider.baseUrl };
  const fileId = await upload();
  const address = 'https://pictures.example/cat.png';
  const content = [
    { type: 'text', text: 'What are these?' },
    { type: 'image', file_id: fileId },
    { type: 'image', data: png.toString('base64'), mime_type: 'image/png' },
    { type: 'image_url', image_url: { url: asPart.image_url.url } },
    { type: 'image', url: address },
  ];
  const asked = await send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content }], config });
  t.is(asked.status, 200, JSON.stringify(asked.body));
  t.deepEqual(provider.requests[0]?.[0]?.content, [
    { type: 'text', text: 'What are these?' },
    ...[asPart, asPart, asPart],
    { type: 'image_url', image_url: { url: address } },
  ]);
  t.is((await send('DELETE', `/v1/files/${fileId}`)).status, 200);
  const again = await send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content: 'And now?' }], config });
  t.is(again.status, 200, JSON.stringify(again.body));
  t.deepEqual((provider.requests.at(-1)?.[0]?.content as readonly unknown[])[0], {
    type: 'text',
    text: 'What are these?[image: its file cannot be read]',
  });
});
