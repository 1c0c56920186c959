import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import test from 'ava';

/** Runs what is given in a process of its own. @returns every module that it asked for. */
async function modulesOf(code: string): Promise<readonly string[]> {
  const watched = `
    const { registerHooks } = await import('node:module');
    const asked = [];
    registerHooks({ resolve: (name, context, next) => { asked.push(name); return next(name, context); } });
    const { openGatewayStores, openInProcessStores } = await import('${new URL('./stores.ts', import.meta.url).href}');
    const { createLog } = await import('@agent-workflow/kit/log');
    const log = createLog('test', 'silent');
    ${code}
    console.log(JSON.stringify(asked));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', watched], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await text(child.stdout)) as string[];
}

const isDriver = (name: string): boolean => /^(@redis\/.*|redis)$/.test(name);

test('a single process does not load the driver of Redis', async (t) => {
  const asked = await modulesOf(`
    await using stores = openInProcessStores();
    await using same = await openGatewayStores({ config: { REDIS_KEY_PREFIX: '', REDIS_TIMEOUT_MS: 100 }, log });`);
  t.true(asked.length > 10);
  t.deepEqual(asked.filter(isDriver), []);
});

test('one that is given a Redis loads it', async (t) => {
  const asked = await modulesOf(`
    const config = { REDIS_URL: 'redis://127.0.0.1:1', REDIS_KEY_PREFIX: '', REDIS_TIMEOUT_MS: 100 };
    await using stores = await openGatewayStores({ config, log });`);
  t.true(asked.some(isDriver));
});
