import test from 'ava';
import { user } from '../servers/client.ts';
import { uploadTo } from '../servers/uploads.ts';
import { serve } from './service.ts';

const { url, send, data, refused } = serve(test, 'obedient');

interface Info {
  readonly file_id: string;
  readonly filename: string;
  readonly expires_at?: string;
}

interface List {
  readonly files: readonly Info[];
  readonly has_more: boolean;
  readonly cursor?: string;
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function uploadPicture(): Promise<string> {
  const form = new FormData();
  form.append('file', new File([png], 'cat.png', { type: 'image/png' }));
  const reply = await fetch(`${url()}/v1/files/upload`, { method: 'POST', body: form });
  return ((await reply.json()) as { readonly data: Info }).data.file_id;
}

test('files are listed, newest first, page by page, by text, type and time', async (t) => {
  const list = async (query = ''): Promise<List> => data(t, 'listFiles', send('GET', `/v1/files${query}`));
  const found = async (query: string): Promise<readonly string[]> =>
    (await list(query)).files.map(({ file_id: id }) => id);
  t.deepEqual(await list(), { files: [], has_more: false });
  const notes = await uploadTo(url(), 'We meet at nine', 'Meeting notes.txt');
  const picture = await uploadPicture();
  const more = await uploadTo(url(), 'more', 'more.md');
  t.deepEqual(await found(''), [more, picture, notes]);
  t.deepEqual((await list()).files[1], await data(t, 'getFileInfo', send('GET', `/v1/files/${picture}/info`)));
  const first = await list('?limit=2');
  t.true(first.has_more);
  const rest = await list(`?limit=2&cursor=${first.cursor ?? ''}`);
  t.deepEqual([rest.files.map(({ file_id: id }) => id), rest.has_more], [[notes], false]);
  t.deepEqual(await found('?search=MEETING'), [notes]);
  t.deepEqual(await found(`?search=${picture}`), [picture]);
  t.deepEqual(await found('?mime_type=image/*'), [picture]);
  t.deepEqual(await found('?mime_type=TEXT/plain&search=more'), [more]);
  t.deepEqual(await found('?from=2099-01-01T00:00:00Z'), []);
  t.is((await found('?to=2099-01-01T00:00:00Z')).length, 3);

  const naming = { role: 'user', content: [{ type: 'image', file_id: picture }] };
  const turn = { messages: [user('look'), naming], config: { thread_id: 'with-picture' } };
  t.is((await send('POST', '/v1/graph/invoke', turn)).status, 200);
  t.deepEqual(
    (await list()).files.map(({ expires_at: at }) => at !== undefined),
    [true, false, true],
  );
  t.is((await send('DELETE', `/v1/files/${picture}`)).status, 200);
  t.deepEqual(await found(''), [more, notes]);

  for (const [query, field] of [
    ['?limit=0', 'limit'],
    ['?mime_type=image', 'mime_type'],
    ['?mime_type=*/*', 'mime_type'],
    ['?from=soon', 'from'],
    ['?search=', 'search'],
    ['?cursor=abc', 'cursor'],
    [`?search=x&cursor=${first.cursor ?? ''}`, 'cursor'],
    ['?offset=1', 'offset'],
  ] as const)
    t.deepEqual(await refused(t, send('GET', `/v1/files${query}`), 422, 'VALIDATION_ERROR'), [['query', field]], query);
});
