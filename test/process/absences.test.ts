import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { freePorts } from '../servers/real-process.ts';
import { makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';

/** Nothing listens there. */
const nowhere = '127.0.0.1:1';

const command = fileURLToPath(import.meta.resolve('@agent-workflow/command/main'));

interface Start {
  readonly service: 'threads' | 'execution' | 'gateway';
  readonly env: Readonly<Record<string, string>>;
  readonly part: string;
  /** It has failed so often by then. */
  readonly failures: number;
}

/** What the process of a service prints while its server is unavailable for some attempts. */
async function printedBy(t: ExecutionContext, { service, env, part, failures: least }: Start): Promise<string> {
  const [port = 0] = await freePorts(1);
  const place = await makeWorkspace(null);
  const child = spawn(process.execPath, [command, 'start', service], {
    env: {
      ...place.env,
      ...{ LOG_FORMAT: 'text', GRPC_HOST: '127.0.0.1', GRPC_PORT: '0', SERVICE_TOKEN: 'known' },
      ...{ METRICS_HOST: '127.0.0.1', METRICS_PORT: String(port), DRAIN_SECONDS: '0', ...env },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
    await place[Symbol.asyncDispose]();
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => printed.push(text.toString()));
  const failures = new RegExp(`^agent_workflow_part_failures_total\\{part="${part}"\\} (\\d+)$`, 'm');
  const metrics = `http://127.0.0.1:${String(port)}/metrics`;
  const read = async (): Promise<string> => fetch(metrics).then(async (reply) => reply.text(), String);
  await until(async () => Number(failures.exec(await read())?.[1] ?? 0) >= least);
  await until(() => printed.join('').includes(`part=${part} `));
  return printed.join('');
}

const starts: readonly (Start & { readonly names: string })[] = [
  {
    ...{ service: 'threads', part: 'cassandra', failures: 3, names: 'CASSANDRA_CONTACT_POINTS' },
    env: { CASSANDRA_CONTACT_POINTS: nowhere, CASSANDRA_LOCAL_DATACENTER: 'nowhere' },
  },
  {
    ...{ service: 'execution', part: 'nats', failures: 3, names: 'NATS_URL' },
    env: { ROLE: 'worker', NATS_URL: `nats://u:hidden@${nowhere}`, THREADS_ADDRESS: nowhere, MEMORY_ADDRESS: nowhere },
  },
  // Nobody calls it: it looks at its start, and every 15 seconds from then on.
  {
    ...{ service: 'gateway', part: 'threads', failures: 2, names: 'THREADS_ADDRESS' },
    env: { PORT: '0', THREADS_ADDRESS: nowhere, EXECUTION_ADDRESS: nowhere, MEMORY_ADDRESS: nowhere },
  },
];

for (const start of starts)
  test(`${start.service} logs once that ${start.part} is unavailable, without a stack, with the setting to look at`, async (t) => {
    const printed = await printedBy(t, start);
    const lines = printed
      .split('\n')
      .filter((line) => line.includes(`a part fails; it is tried again part=${start.part} `));
    t.is(lines.length, 1, printed);
    t.true(lines[0]?.includes(start.names), printed);
    t.notRegex(printed, / {4}at |hidden/);
  });
