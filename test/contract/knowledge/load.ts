import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Memory } from '@agent-workflow/protos/memory';
import { serve } from '@agent-workflow/protos/wire/serve';

const entry = fileURLToPath(new URL('loader.ts', import.meta.url));
const loaders = 5;
/** How many of them are killed, each after its part of the documents. */
const killed = [0.2, 0.5];

/**
 * Five processes store the same documents at the same moment, each at one of the services; two are killed on the way.
 * @returns how many came to their end
 */
export async function loadAtOnce(services: readonly Memory[], count: number): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const options = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined };
  const servers = await Promise.all(services.map(async (memory) => opened.use(await serve({ memory }, options))));
  const codes = await Promise.all(
    Array.from({ length: loaders }, async (_, at) => {
      const address = `127.0.0.1:${String(servers[at % servers.length]?.port)}`;
      const child = spawn(process.execPath, [entry, address, String(count), `u:loader ${String(at)}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const share = killed[at];
      if (share !== undefined) void killAfter(child, share * count);
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    }),
  );
  return codes.filter((code) => code === 0).length;
}

async function killAfter(child: ChildProcess, stored: number): Promise<void> {
  if (!child.stdout) return;
  for await (const line of createInterface({ input: child.stdout })) if (Number(line) >= stored) child.kill('SIGKILL');
}
