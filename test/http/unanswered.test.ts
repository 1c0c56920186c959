import test from 'ava';
import { createClient } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { startOpenaiEmbeddings } from '../servers/openai-embeddings.ts';

test('a request to which something needed gives no answer is 504, and Retry-After says when to come back', async (t) => {
  await using embedder = await startOpenaiEmbeddings({ dimension: 8 });
  embedder.behave({ kind: 'hang' });
  await using service = await openEmbedded(null, {
    ...{ EMBEDDINGS_PROVIDER: 'openai', EMBEDDINGS_BASE_URL: embedder.url, EMBEDDINGS_DIMENSION: '8' },
    CALL_TIMEOUT_MS: '300',
  });
  const { status, headers, body } = await createClient(service.url).send('POST', '/v1/store/search', { query: 'tea' });
  t.is(status, 504, JSON.stringify(body));
  t.is(headers.get('retry-after'), '1');
});
