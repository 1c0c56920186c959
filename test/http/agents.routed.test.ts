import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { until } from '../until.ts';
import { embeddedOnly } from './shape.ts';
import { twoAgents } from './two-agents.ts';

interface Registered {
  readonly revisions: readonly { readonly revision: string; readonly workers?: number }[];
  readonly warnings?: readonly string[];
}

const command = fileURLToPath(import.meta.resolve('@agent-workflow/command/main'));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const route = async (...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, [command, 'agents', 'route', ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });

embeddedOnly(
  test,
  'routing to a revision that no worker holds is accepted with a warning, by HTTP and by the command',
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'routed-'));
    t.teardown(() => rm(folder, { recursive: true }));
    await (await openEmbedded(null, { DATA_DIR: folder, AGENT_REVISION: 'v1' }, twoAgents))[Symbol.asyncDispose]();
    await using service = await openEmbedded(null, { DATA_DIR: folder, AGENT_REVISION: 'v2' }, twoAgents);
    const { send } = createClient(service.url);
    const workers = async (): Promise<readonly (number | undefined)[]> => {
      const { revisions } = (await send('GET', '/v1/agents/support')).body.data as Registered;
      return revisions.map((each) => each.workers);
    };
    await until(async () => (await workers())[1] === 1);
    t.deepEqual(await workers(), [0, 1]);

    const put = async (body: object): Promise<Registered> =>
      (await send('PUT', '/v1/agents/support/routing', body)).body.data;
    const warning = 'no worker of revision "v1" is there: its runs wait until one comes';
    const ramp = await put({ version: 2, current: 'v2', ramping: { revision: 'v1', percent: 10 } });
    t.deepEqual(ramp.warnings, [warning]);
    t.like(ramp.revisions, [
      { revision: 'v1', workers: 0 },
      { revision: 'v2', workers: 1 },
    ]);
    t.is((await put({ version: 3, current: 'v2', ramping: { revision: 'v1', percent: 0 } })).warnings, undefined);
    t.is((await put({ version: 4, current: 'v2' })).warnings, undefined);

    const at = ['--url', service.url];
    const routed = { code: 0, stdout: 'agent support, current v2, ramping v1 2.5 %, routing version 6\n' };
    t.deepEqual(await route('support', '--ramp', 'v1=2.5', ...at), { ...routed, stderr: `warning: ${warning}\n` });
    const back = { code: 0, stdout: 'agent support, current v2, routing version 7\n', stderr: '' };
    t.deepEqual(await route('support', '--current', 'v2', ...at), back);
    for (const [code, args, why] of [
      [1, ['support', '--current', 'v9', ...at], /v9/],
      [1, ['nobody', '--current', 'v1', ...at], /nobody/],
      [
        1,
        ['support', '--current', 'v1', '--token-file', join(folder, 'none'), ...at],
        /^--token-file \S+none cannot be read\n$/,
      ],
      [2, ['', '--current', 'v1', ...at], /^"" must be the name of an agent/],
      [2, ['support', ...at], /--current/],
      [2, ['support', '--ramp', 'v1', ...at], /--ramp must be/],
      [2, ['support', '--ramp', 'v1=10', '--url', 'here'], /--url must be/],
      [2, [...at, '--current', 'v1'], /route must be followed by/],
    ] as const) {
      const ended = await route(...args);
      t.is(ended.code, code, args.join(' '));
      t.regex(ended.stderr, why);
    }
    const token = join(folder, 'token');
    await writeFile(token, 'of an operator\n');
    t.is((await route('support', '--current', 'v2', '--token-file', token, ...at)).code, 0, 'nobody signs in here');
  },
);
