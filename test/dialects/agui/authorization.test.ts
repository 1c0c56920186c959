import { fileURLToPath } from 'node:url';
import test from 'ava';
import { openEmbedded } from '../../servers/embedded.ts';
import { agentAt } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));

test('a caller who may use one agent neither runs another, nor reads its threads by the path of the first', async (t) => {
  await using service = await openEmbedded(
    null,
    { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
    {
      ...{ agents: { support: agentAt('typing'), office: agentAt('typing') }, default_agent: 'support' },
      ...{ auth: 'jwt', authorization: `${module}:byAgent` },
    },
  );
  const as = (...agents: readonly string[]) => {
    const token = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada', agents } });
    return async (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
      const reply = await fetch(`${service.url}/agui/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      return { status: reply.status, text: await reply.text() };
    };
  };
  const order = (threadId: string): object => ({
    ...{ threadId, runId: 'run' },
    messages: [{ id: crypto.randomUUID(), role: 'user', content: 'the secret of the office' }],
  });
  const [office, support] = [as('office'), as('support')];
  const made = await office('office', order('of-office'));
  t.is(made.status, 200, made.text);
  const id = /^id: (.+)$/m.exec(made.text)?.[1] ?? '';
  t.is((await support('office', order('mine'))).status, 403);
  t.is((await support('office/connect', { threadId: 'of-office' })).status, 403);
  for (const headers of [{}, { 'last-event-id': id }]) {
    const { status, text } = await support('support/connect', { threadId: 'of-office' }, headers);
    t.is(status, 404, text);
    t.notRegex(text, /secret/);
  }
  const run = await support('support', order('of-office'));
  t.true(run.status >= 400 && run.status < 500, run.text);
  t.is((await office('office/connect', { threadId: 'of-office' })).status, 200);
});
