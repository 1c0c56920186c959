import { HttpAgent } from '@ag-ui/client';
import { resumingFetch } from '@agent-workflow/client';
import test from 'ava';
import { makeWorkspace, startStandalone, testedAgent } from '../../servers/standalone.ts';

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

test('a page loses nothing, and has nothing twice, when the service is killed in mid-stream and comes back', async (t) => {
  await using workspace = await makeWorkspace('typing');
  const env = { ...workspace.env, HOST: '127.0.0.1', DIALECTS: 'agui' };
  await using first = await startStandalone(env);
  const { url } = first;
  const agent = new HttpAgent({ url: `${url}/agui/${testedAgent}`, threadId: 'page', fetch: resumingFetch() });
  const types: string[] = [];
  let isWithin: () => void = () => undefined;
  const within = new Promise<void>((resolve) => (isWithin = resolve));
  agent.subscribe({
    onEvent: ({ event }) => {
      types.push(event.type);
      if (types.filter((type) => type === 'TEXT_MESSAGE_CONTENT').length === 5) isWithin();
    },
  });
  agent.addMessage({ id: 'asked', role: 'user', content: 'hello' });
  const running = agent.runAgent();
  await within;
  await first.stop('SIGKILL');
  await using second = await startStandalone({ ...env, PORT: new URL(url).port });
  t.is(second.url, url);
  await running;
  t.deepEqual(
    agent.messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'hello'],
      ['assistant', answer],
    ],
  );
  t.deepEqual(agent.state, { turns: 1 });
  t.is(types.filter((type) => type === 'RUN_STARTED').length, 1);
  t.is(types.at(-1), 'RUN_FINISHED');
});
