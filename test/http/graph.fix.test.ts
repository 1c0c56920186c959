import test from 'ava';
import { user } from '../servers/client.ts';
import { replyText, serve } from './service.ts';

const service = serve(test);

interface Fixed {
  readonly message: string;
  readonly removed_count: number;
  readonly state: { readonly context: readonly Parameters<typeof replyText>[0][] };
}

const searchTool = { node_name: 'tools', name: 'look', parameters: { type: 'object', properties: {} } };
const fix = (body: object): ReturnType<typeof service.send> => service.send('POST', '/v1/graph/fix', body);

test('a call that nobody answered is removed with its message, and the conversation goes on', async (t) => {
  const config = { thread_id: 'broken' };
  const asked = await service.send('POST', '/v1/graph/invoke', {
    messages: [user('call look')],
    tools: [searchTool],
    config,
  });
  t.is((asked.body.data as { meta: { status: string } }).meta.status, 'interrupted');

  const fixed = (await service.data(t, 'fixThread', fix({ thread_id: 'broken' }))) as Fixed;
  t.like(fixed, { removed_count: 1, message: '1 message without answers removed' });
  t.deepEqual(fixed.state.context.map(replyText), ['call look']);
  const answer = { role: 'tool', content: [{ type: 'tool_result', call_id: 'call-1', output: 'late' }] };
  await service.refused(
    t,
    service.send('POST', '/v1/graph/invoke', { messages: [answer], config }),
    400,
    'BAD_REQUEST',
  );

  const next = await service.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config });
  t.deepEqual((next.body.data as { messages: Parameters<typeof replyText>[0][] }).messages.map(replyText), [
    'you said hello',
  ]);
});

test('a thread with nothing broken stays as it is', async (t) => {
  await service.thread('sound');
  const fixed = (await service.data(t, 'fixThread', fix({ config: { thread_id: 'sound' } }))) as Fixed;
  t.is(fixed.removed_count, 0);
  t.deepEqual(fixed.state.context.map(replyText), ['hello', 'you said hello']);
});

test('fix needs a thread, and one that exists', async (t) => {
  t.deepEqual(await service.refused(t, fix({}), 422, 'VALIDATION_ERROR'), [['body', 'thread_id']]);
  await service.refused(t, fix({ thread_id: 'absent' }), 404, 'RESOURCE_NOT_FOUND');
});
