import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

interface Message {
  readonly role: string;
  readonly content: readonly { readonly text: string }[];
}

const textOf = ({ content }: Message): string => content.map(({ text }) => text).join('');

test('eight turns sent at once to one thread give eight right answers, every message kept, in order of acceptance', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone(workspace.env);
  const { send } = createClient(service.url);
  const turns = Array.from({ length: 8 }, (_, index) => `turn ${String(index)}`);
  const replies = await Promise.all(
    turns.map((text) => send('POST', '/v1/graph/invoke', { messages: [user(text)], config: { thread_id: 'busy' } })),
  );
  for (const [index, reply] of replies.entries()) {
    t.is(reply.status, 200);
    t.is((reply.body.data as { messages: Message[] }).messages.map(textOf).join(), `you said ${turns[index] ?? ''}`);
  }

  const { messages } = (await send('GET', '/v1/threads/busy/messages')).body.data as { messages: Message[] };
  t.is(messages.length, 16);
  const asked = messages.filter(({ role }) => role === 'user').map(textOf);
  t.deepEqual(asked.toSorted(), turns.toSorted());
  t.deepEqual(
    messages.map(textOf),
    asked.flatMap((text) => [text, `you said ${text}`]),
  );
  const accepted = replies
    .map((reply, index) => ({
      text: turns[index],
      runId: (reply.body.data as { meta: { run_id: string } }).meta.run_id,
    }))
    .toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
  t.deepEqual(
    asked,
    accepted.map(({ text }) => text),
  );
  const { state } = (await send('GET', '/v1/threads/busy/state')).body.data as { state: { turns: number } };
  t.is(state.turns, 8);
});
