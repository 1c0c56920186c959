import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { openShape } from '../http/shape.ts';
import { agentAt } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { openPage } from './browser.ts';
import { bundlePage, serveOtherPages } from './other-pages.ts';
import { browserTest } from './suite.ts';

const secret = 's'.repeat(32);
const token = makeToken('HS256', secret, { claims: { exp: inSeconds(3600), user_id: 'ada' } });

/** A secured service, and a page of another origin that uses it with the protocols' own clients. */
interface Ground extends AsyncDisposable {
  readonly page: string;
  readonly url: string;
}

async function openGround(): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const { origin: page } = opened.use(await serveOtherPages({ '': await bundlePage('other-origin-page.ts') }));
  const env = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, CORS_ORIGINS: page };
  const agents = { typing: agentAt('typing') };
  const service = opened.use(await openShape(null, env, { auth: 'jwt', agents, default_agent: 'typing' }));
  const everything = opened.move();
  return { page, url: service.url, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

let ground: Ground | undefined;
test.serial.before(async (t) => {
  if (process.env['BROWSER'] !== '1') return;
  t.timeout(byLoad(120_000));
  ground = await openGround();
});
test.after.always(() => ground?.[Symbol.asyncDispose]());

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

async function answerTo(t: ExecutionContext, use: string): Promise<string> {
  const { page = '', url = '' } = ground ?? {};
  // There is no stream of the server in MCP here.
  const expected = [/^request to http:\/\/127\.0\.0\.1:/, /status of 405/];
  const opened = await openPage(t, page, { expected });
  await opened.page.waitForFunction(() => 'uses' in globalThis);
  return opened.page.evaluate(
    ([name, used]) => {
      const { uses } = globalThis as unknown as {
        readonly uses: Readonly<Record<string, (of: object) => Promise<string>>>;
      };
      return uses[name]?.(used) ?? '';
    },
    [use, { url, token, agent: 'typing' }] as const,
  );
}

for (const [use, client] of Object.entries({
  completion: "OpenAI's client",
  response: "OpenAI's client",
  'call with a handshake': "MCP's client",
  'call without a handshake': "MCP's client",
  'task by JSON-RPC': "A2A's client",
  'task by REST': "A2A's client",
}))
  browserTest(`${client} in a page of another origin, which is listed: a ${use}`, async (t) => {
    t.is((await answerTo(t, use)).trim(), answer.trim());
  });
