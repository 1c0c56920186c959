import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

/** What `dev` says of the end of a service, one after the other, of agents that are saved in turn; then it is stopped. */
async function endsOf(agents: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-dev-'));
  const save = (agent: string): Promise<void> => writeFile(join(folder, 'agent.ts'), agent);
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agent: './agent.ts:graph' }));
  const rest = [...agents];
  await save(rest.shift() ?? '');
  const env = { ...process.env, PORT: '0' };
  const child = spawn(process.execPath, [main, 'dev'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  const ends: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('dev: the service ')) continue;
    ends.push(line);
    const next = rest.shift();
    if (next === undefined) child.kill('SIGTERM');
    else await save(next);
  }
  const [code] = (await exited) as [number | null];
  await rm(folder, { recursive: true });
  return { ends, code };
}

test('the end of a service that ends by itself is reported with its code or its signal', async (t) => {
  const { ends, code } = await endsOf(['export const graph = 1 +;', `process.kill(process.pid, 'SIGKILL');`]);
  t.deepEqual(ends, [
    'dev: the service has ended with code 1 and does not run; it is started again when a file changes',
    'dev: the service has ended by SIGKILL and does not run; it is started again when a file changes',
  ]);
  t.is(code, 0);
});
