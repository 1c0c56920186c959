import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { audience, goodClaims, issuer, makeToken } from '../servers/tokens.ts';
import { serve } from './service.ts';

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = {
  JWT_ALGORITHM: 'HS256',
  JWT_SECRET_KEY: secret,
  JWT_ISSUER: issuer,
  JWT_AUDIENCE: audience,
  OPEN_QUESTIONS: '2',
};
const service = serve(test, 'asking-others', env, { auth: 'jwt', access: { roles: { manager: { is: 'approver' } } } });

const as = (sub: string, ...roles: string[]): Client =>
  createClient(service.url(), {
    authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id: sub, roles }) })}`,
  });

const asked = (client: Client, threadId: string) =>
  client.send('POST', '/v1/graph/invoke', {
    messages: [user('{"to":["manager"],"notOwner":true}')],
    config: { thread_id: threadId },
  });

test('who has too many questions to others open asks no more, in no way, and hides those of nobody', async (t) => {
  const mallory = as('mallory');
  for (const thread of ['m1', 'm2']) t.is((await asked(mallory, thread)).status, 200);
  const { body } = await asked(mallory, 'm3');
  t.regex(JSON.stringify(body), /one owner may have 2 questions to others of agent .*OPEN_QUESTIONS/);
  await service.refused(t, mallory.send('POST', '/v1/threads/m1/fork', {}), 409, 'CONFLICT');
  t.is((await asked(as('ada'), 'a1')).status, 200);
  const list = await as('boris', 'manager').send('GET', '/v1/questions');
  const { questions } = list.body.data as { readonly questions: readonly { readonly thread_id: string }[] };
  t.deepEqual(questions.map(({ thread_id: id }) => id).toSorted(), ['a1', 'm1', 'm2']);
});
