import test from 'ava';
import { serve } from './service.ts';

const { url, send, refused } = serve(test, 'filing', { FILES_MAX_MB: '2' });

const upload = async (text: string, name: string): Promise<string> => {
  const form = new FormData();
  form.append('file', new File([text], name, { type: 'text/plain' }));
  const response = await fetch(`${url()}/v1/files/upload`, { method: 'POST', body: form });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly data: { readonly file_id: string } }).data.file_id;
};

const read = async (id: string): Promise<readonly [number, string]> => {
  const response = await fetch(`${url()}/v1/files/${id}`);
  return [response.status, await response.text()];
};

const naming = (threadId: string, text: string, ...ids: readonly string[]): object => ({
  messages: [
    { role: 'user', content: [{ type: 'text', text }, ...ids.map((id) => ({ type: 'document', file_id: id }))] },
  ],
  config: { thread_id: threadId },
});

interface Reply {
  readonly messages: readonly { readonly content: readonly { readonly file_id?: string; readonly text?: string }[] }[];
}

const copiesOf = (data: unknown): readonly string[] =>
  (data as Reply).messages.flatMap(({ content }) => content.flatMap(({ file_id: id }) => id ?? []));

for (const way of ['whole', 'stream']) {
  test(`a node reads a file of the caller and writes another, ${way}, which go with their thread`, async (t) => {
    const id = await upload('warm in May', 'notes.txt');
    const { status, body } = await send('POST', '/v1/graph/invoke', naming(`filing-${way}`, way, id));
    t.is(status, 200, JSON.stringify(body));
    const [copy = ''] = copiesOf(body.data);
    t.deepEqual(await read(copy), [200, 'WARM IN MAY']);
    const { body: info } = await send('GET', `/v1/files/${copy}/info`);
    t.like(info.data, { filename: `${way}-notes.txt`, mime_type: 'text/plain', size_bytes: 11 });
    t.is((await send('DELETE', `/v1/threads/filing-${way}`)).status, 200);
    t.deepEqual([(await read(id))[0], (await read(copy))[0]], [404, 404]);
  });
}

test('a request that names a file that is not there is refused by the block', async (t) => {
  const id = await upload('a', 'a.txt');
  const asked = send('POST', '/v1/graph/invoke', naming('filing-none', 'whole', id, 'nothing'));
  t.deepEqual(await refused(t, asked, 422, 'VALIDATION_ERROR'), [['body', 'messages', 0, 'content', 2, 'file_id']]);
  await refused(t, send('GET', '/v1/threads/filing-none'), 404, 'RESOURCE_NOT_FOUND');
});

test('a file that was deleted is named no more', async (t) => {
  const id = await upload('a', 'a.txt');
  t.is((await send('POST', '/v1/graph/invoke', naming('filing-gone', 'whole', id))).status, 200);
  t.is((await send('DELETE', `/v1/files/${id}`)).status, 200);
  await refused(t, send('POST', '/v1/graph/invoke', naming('filing-gone', 'whole', id)), 422, 'VALIDATION_ERROR');
});
