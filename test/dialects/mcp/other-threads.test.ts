import { fileURLToPath } from 'node:url';
import test from 'ava';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { modern, serveMcp } from './service.ts';

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));
const service = serveMcp(
  test,
  { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
  { auth: 'jwt', authorization: `${module}:byThread` },
);

type Fields = Readonly<Record<string, unknown>>;

const tokenOf = (...without: readonly string[]): string =>
  makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada', without } });

async function send(params: Fields, token: string): Promise<{ readonly status: number; readonly result: Fields }> {
  const { message, headers } = modern('tools/call', params, { elicitation: {} });
  const reply = await service.send(message, { ...headers, authorization: `Bearer ${token}` });
  return { status: reply.status, result: (reply.messages.at(-1)?.['result'] ?? {}) as Fields };
}

test('who may not touch a thread answers no question there, whatever requestState it names', async (t) => {
  const call = { name: 'test_elicitation', arguments: { message: 'who?' } };
  const { requestState } = (await send(call, tokenOf())).result;
  const run = await fetch(`${service.url()}/v1/runs/${String(requestState)}`, {
    headers: { authorization: `Bearer ${tokenOf()}` },
  });
  const { data } = (await run.json()) as { readonly data: { readonly thread_id: string } };
  const answer = { ...call, requestState, inputResponses: { form: { action: 'decline' } } };
  t.is((await send(answer, tokenOf(data.thread_id))).status, 403);
  t.like(await send(answer, tokenOf()), { status: 200, result: { resultType: 'complete' } });
});
