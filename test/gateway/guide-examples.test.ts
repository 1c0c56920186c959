import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { keysCommand } from '../servers/keys-command.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { missingPart } from '../shown.ts';
import { examplesOf, runExamples } from './guide-examples.ts';

const folder = new URL('../../gateway/guide/', import.meta.url);
const pages = readdirSync(folder);
const secret = 's'.repeat(32);

/** The agent that comes with the service. */
const standard = '../../services/command/init/template/agent';

/** What a page needs of its service; the others take the agent that comes with it. */
const services: Readonly<Record<string, Parameters<typeof openEmbedded>>> = {
  'access.md': [
    standard,
    { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
    { auth: 'jwt', access: { roles: { root: { is: 'admin' } } } },
  ],
  'agents.md': [
    null,
    {},
    {
      agents: {
        support: agentAt(standard),
        payments: { path: agentAt('../cookbook/agents/approval'), description: 'Pays what a person agrees to.' },
      },
      default_agent: 'support',
    },
  ],
  'sharing.md': [standard, { HOST: '127.0.0.1', JWT_SECRET_KEY: secret }, { auth: 'jwt' }],
  'auth.md': [standard, { HOST: '127.0.0.1', JWT_SECRET_KEY: secret, API_KEYS: 'on' }, { auth: 'jwt' }],
  'interrupts.md': ['../cookbook/agents/approval'],
  'memory.md': [standard, {}, { access: { knowledge: { handbook: { read: ['*'], write: ['*'] } } } }],
  'multitask.md': ['sleeping'],
  'retry.md': ['recovering'],
  'threads.md': [standard, {}, { agent: agentAt(standard) }],
};

for (const page of pages) {
  test(`every command of ${page} answers what the page says`, async (t) => {
    const examples = examplesOf(readFileSync(new URL(page, folder), 'utf8'));
    t.true(examples.length > 0);
    const tokenOf = (user: string, roles?: string): string =>
      makeToken('HS256', secret, { claims: { user_id: user, exp: inSeconds(60), ...(roles && { roles }) } });
    const [agent, env = {}, file] = services[page] ?? [standard];
    // The command that makes a key finds the record on disk.
    await using workspace = await makeWorkspace(null);
    const { DATA_DIR = '' } = env['API_KEYS'] === 'on' ? workspace.env : { DATA_DIR: ':memory:' };
    await using service = await openEmbedded(agent, { ...env, DATA_DIR }, file);
    const made =
      env['API_KEYS'] === 'on' && (await keysCommand({ DATA_DIR }, 'create', '--user', 'ada', '--scopes', '*'));
    const apiKey = made ? made.out.trim() : '';
    const callers = { TOKEN: tokenOf('ada'), BOB: tokenOf('bob'), ROOT: tokenOf('zoe', 'root'), API_KEY: apiKey };
    const outcomes = await runExamples(examples, { URL: service.url, ...callers });
    for (const [index, { commands, refusal, reply }] of examples.entries()) {
      const { output = '', statuses = [] } = outcomes[index] ?? {};
      const what = `${commands}\nanswered ${statuses.join()}\n${output}`;
      t.true(statuses.length > 0, what);
      if (refusal) t.deepEqual([statuses.at(-1), codeIn(output)], [refusal.status, refusal.code], what);
      else
        t.true(
          statuses.every((status) => status >= 200 && status < 300),
          what,
        );
      if (reply !== undefined) t.is(missingPart(reply, output), undefined, what);
    }
  });
}

const codeIn = (output: string): unknown => (JSON.parse(output) as { readonly error?: { code?: string } }).error?.code;

test('a block says its refusal in its first line, and shows its reply in the block after it', (t) => {
  const markdown =
    '```sh\n# answers 409 CONFLICT\ncurl x\n```\n```\n{…}\n```\n\n```sh\ncurl y\n```\n\n```\nelse\n```\n';
  t.deepEqual(examplesOf(markdown), [
    { commands: '# answers 409 CONFLICT\ncurl x\n', refusal: { status: 409, code: 'CONFLICT' }, reply: '{…}\n' },
    { commands: 'curl y\n' },
  ]);
});

test('the status of each request is seen, also of one inside another command', async (t) => {
  await using service = await openEmbedded(null);
  const commands = 'X=$(curl -s "$URL/v1/ping")\ncurl -s "$URL/nothing" >/dev/null\necho "$X"\n';
  const [outcome] = await runExamples([{ commands }], { URL: service.url });
  t.deepEqual(outcome?.statuses, [200, 404]);
  t.regex(outcome?.output ?? '', /"data"/);
});
