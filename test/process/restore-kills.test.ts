import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';

/** How often the process is killed: 40 times with `KILLS=40`. */
const kills = Number(process.env['KILLS'] ?? 3);
const threadsPerKill = 6;

interface Message {
  readonly content: readonly { readonly text?: string }[];
}

const texts = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ content }) => content.flatMap(({ text = '' }) => text));

test('of restores, starts from a checkpoint, copies and prunings whose service is killed each is made whole or not at all', async (t) => {
  await using workspace = await makeWorkspace('echo');
  let made = 0;
  const names: string[] = [];
  const firsts = new Map<string, string>();
  const copies: string[] = [];

  for (let round = 0; round < kills; round++) {
    const service = await startStandalone(workspace.env);
    const { send } = createClient(service.url);
    const of = Array.from({ length: threadsPerKill }, (_, n) => `t-${String(round)}-${String(n)}`);
    await Promise.all(
      of.map(async (name) => {
        for (const text of ['first', 'second', 'third']) {
          await send('POST', '/v1/graph/invoke', { messages: [user(text)], config: { thread_id: name } });
          if (text !== 'first') continue;
          const { checkpoints } = (await send('GET', `/v1/threads/${name}/checkpoints?limit=1`)).body.data as {
            readonly checkpoints: readonly { readonly checkpoint_id: string }[];
          };
          firsts.set(name, checkpoints[0]?.checkpoint_id ?? '');
        }
      }),
    );
    names.push(...of);
    const began = made;
    const work = Promise.allSettled(
      of.map(async (name, n) => {
        const checkpoint_id = firsts.get(name);
        const path = `/v1/threads/${name}`;
        if (n % 2 === 0) await send('POST', `${path}/restore`, { checkpoint_id });
        else await send('POST', '/v1/runs', { messages: [user('other')], config: { thread_id: name, checkpoint_id } });
        made += 1;
        const copy = await send('POST', `${path}/fork`, {});
        copies.push((copy.body.data as { readonly thread_id: string }).thread_id);
        await send('POST', `${path}/prune`, { keep: 2 });
        made += 1;
      }),
    );
    await delay((round * 13) % 60);
    await until(() => made - began >= (round * 3) % (2 * threadsPerKill));
    await service.stop('SIGKILL');
    await work;
  }
  t.log(`${String(made)} of ${String(2 * names.length)} were answered before a kill`);

  await using service = await startStandalone(workspace.env);
  const { send } = createClient(service.url);
  const messagesOf = async (name: string): Promise<readonly string[]> =>
    texts(
      ((await send('GET', `/v1/threads/${name}/messages`)).body.data as { readonly messages: readonly Message[] })
        .messages,
    );
  const isIdle = async (name: string): Promise<boolean> =>
    ((await send('GET', `/v1/threads/${name}`)).body.data as { readonly status: string }).status === 'idle';
  const reply = (text: string): readonly string[] => [text, `you said ${text}`];
  const whole = [...reply('first'), ...reply('second'), ...reply('third')].join();
  const allowed = new Set([whole, reply('first').join(), [...reply('first'), ...reply('other')].join()]);
  for (const name of names) {
    await until(() => isIdle(name));
    const found = (await messagesOf(name)).join();
    t.true(allowed.has(found), `${name}: ${found}`);
    // Whatever was cut, the thread goes on.
    const more = await send('POST', '/v1/graph/invoke', { messages: [user('more')], config: { thread_id: name } });
    t.is(more.status, 200);
    t.is((await messagesOf(name)).join(), [found, ...reply('more')].join());
  }
  const partial = [...allowed, [...reply('first'), 'other'].join()];
  for (const copy of copies) t.true(partial.includes((await messagesOf(copy)).join()), copy);
  const { threads } = (await send('POST', '/v1/threads/search', { limit: 1000 })).body.data as {
    readonly threads: readonly unknown[];
  };
  t.true(threads.length >= names.length + copies.length);
});
