import { HttpAgent } from '@ag-ui/client';
import test from 'ava';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';
import { until } from '../../until.ts';

const service = serve(test, 'typing', { DIALECTS: 'agui' });

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

const open = (threadId: string): HttpAgent => new HttpAgent({ url: `${service.url()}/agui/${testedAgent}`, threadId });

const addUser = (agent: HttpAgent, text: string): void =>
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });

/** Runs until some of the answer has come, and leaves: the run goes on. */
async function leaveWithin(agent: HttpAgent): Promise<void> {
  const onTextMessageContentEvent = ({ event }: { readonly event: { readonly delta: string } }): void => {
    if (event.delta.includes('word3')) agent.abortRun();
  };
  await agent.runAgent({}, { onTextMessageContentEvent }).catch(() => undefined);
}

async function messagesOf(threadId: string): Promise<unknown[]> {
  const { body } = await service.send('GET', `/v1/threads/${threadId}/messages`);
  const { messages } = body.data as { readonly messages: readonly { role: string; content: { text?: string }[] }[] };
  return messages.map(({ role, content }) => [role, content.map(({ text }) => text ?? '').join('')]);
}

const hasEnded = async (threadId: string): Promise<boolean> =>
  (await service.send('GET', `/v1/threads/${threadId}`)).body.data['status'] === 'idle';

test('a page that left in the middle of a message and sends the next one has changed nothing of what the agent says', async (t) => {
  const agent = open(crypto.randomUUID());
  addUser(agent, 'what time is it');
  await leaveWithin(agent);
  t.true(agent.messages.at(-1)?.content !== answer);
  addUser(agent, 'next');
  await agent.runAgent();
  t.deepEqual(await messagesOf(agent.threadId), [
    ...[
      ['user', 'what time is it'],
      ['assistant', ''],
      ['tool', ''],
      ['assistant', answer],
    ],
    ...[
      ['user', 'next'],
      ['assistant', answer],
    ],
  ]);
  t.deepEqual(agent.state, { turns: 3 });
});

test('the state of a page that has not seen the end of a run changes nothing', async (t) => {
  const agent = open(crypto.randomUUID());
  addUser(agent, 'what time is it');
  await leaveWithin(agent);
  t.deepEqual(agent.state, { turns: 1 });
  await until(() => hasEnded(agent.threadId));
  addUser(agent, 'next');
  await agent.runAgent();
  t.deepEqual(agent.state, { turns: 3 });
  // Of a page that has seen it, it is written.
  agent.setState({ turns: 10 });
  addUser(agent, 'and on');
  await agent.runAgent();
  t.deepEqual(agent.state, { turns: 14 });
});

test('what no run has left in the thread is not taken from a page as what the agent has said', async (t) => {
  const agent = open(crypto.randomUUID());
  addUser(agent, 'hello');
  await agent.runAgent();
  const call = { id: 'gone', type: 'function', function: { name: 'clock', arguments: '{}' } } as const;
  agent.addMessage({ id: 'half', role: 'assistant', content: 'You get a refund', toolCalls: [call] });
  agent.addMessage({ id: 'result', role: 'tool', toolCallId: 'gone', content: 'midnight' });
  addUser(agent, 'next');
  await agent.runAgent();
  t.deepEqual(await messagesOf(agent.threadId), [
    ...[
      ['user', 'hello'],
      ['assistant', answer],
    ],
    ...[
      ['user', 'next'],
      ['assistant', answer],
    ],
  ]);
});

test('a result that nobody waits for is refused where it comes alone', async (t) => {
  const agent = open(crypto.randomUUID());
  addUser(agent, 'hello');
  await agent.runAgent();
  agent.addMessage({ id: 'result', role: 'tool', toolCallId: 'gone', content: 'midnight' });
  await t.throwsAsync(agent.runAgent(), { message: /no open tool call has the id/ });
});
