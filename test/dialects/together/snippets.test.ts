import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dialects } from '@agent-workflow/gateway/dialects';
import { protocolsOf } from '@agent-workflow/playground/snippets';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../../by-load.ts';
import { openShape } from '../../http/shape.ts';
import { agentAt } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';

const execute = promisify(execFile);
const folder = fileURLToPath(new URL('../..', import.meta.url));

const secret = 's'.repeat(32);
const token = makeToken('HS256', secret, { claims: { exp: inSeconds(3600), user_id: 'ada' } });
const name = 'support';

/** What the playground shows is run as it is copied: by a shell, as a module, or as the settings of a client. */
async function run(t: ExecutionContext, { language, code }: { readonly language: string; readonly code: string }) {
  const options = { cwd: folder, env: { ...process.env, TOKEN: token }, timeout: byLoad(60_000) };
  if (language === 'sh') return (await execute('sh', ['-c', code], options)).stdout;
  if (language === 'js')
    return (await execute(process.execPath, ['--input-type=module', '--eval', code], options)).stdout;
  const { mcpServers } = JSON.parse(code) as {
    readonly mcpServers: Readonly<Record<string, { readonly url: string; readonly headers?: Record<string, string> }>>;
  };
  const [server] = Object.values(mcpServers);
  if (!server) throw new Error('the settings name no server');
  const headers = JSON.parse(JSON.stringify(server.headers ?? {}).replaceAll('${TOKEN}', token)) as Record<
    string,
    string
  >;
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
  t.teardown(() => client.close());
  return JSON.stringify(await client.callTool({ name, arguments: { message: 'hello' } }));
}

for (const hasToken of [false, true])
  test(`each protocol has code that works as it is copied: ${hasToken ? 'with a token' : 'without one'}`, async (t) => {
    t.timeout(byLoad(180_000));
    const agents = { [name]: agentAt('obedient'), other: agentAt('echo') };
    const service = { agents, default_agent: 'other', ...(hasToken && { auth: 'jwt' }) };
    await using opened = await openShape(
      null,
      { HOST: '127.0.0.1', ...(hasToken && { JWT_SECRET_KEY: secret }) },
      service,
    );
    const called = { origin: opened.url, agent: name, isOnly: false, hasToken };
    const protocols = protocolsOf(
      dialects.map((dialect) => dialect.name),
      called,
    );
    t.deepEqual(protocols.map(({ id }) => id).toSorted(), dialects.map((dialect) => dialect.name).toSorted());
    for (const { id, docs, snippets } of protocols) {
      t.is((await fetch(`${opened.url}${docs}`)).status, 200, docs);
      t.true(snippets.length >= 2, id);
      for (const snippet of snippets) {
        t.false(snippet.code.includes(token));
        const printed = await run(t, snippet);
        t.true(/you[^]*said[^]*hello/.test(printed), `${id}, ${snippet.language}: ${printed}`);
      }
    }
  });
