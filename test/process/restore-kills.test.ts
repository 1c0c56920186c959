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

const isRestored = (name: string): boolean => Number(name.at(-1)) % 2 === 0;

const texts = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ content }) => content.flatMap(({ text = '' }) => text));

test('of restores, starts from a checkpoint, copies and prunings whose service is killed each is made whole or not at all', async (t) => {
  await using workspace = await makeWorkspace('echo');
  let made = 0;
  const names: string[] = [];
  const firsts = new Map<string, string>();
  const copies: (readonly [name: string, copy: string])[] = [];

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
      of.map(async (name) => {
        const checkpoint_id = firsts.get(name);
        const path = `/v1/threads/${name}`;
        if (isRestored(name)) await send('POST', `${path}/restore`, { checkpoint_id });
        else await send('POST', '/v1/runs', { messages: [user('other')], config: { thread_id: name, checkpoint_id } });
        made += 1;
        const copy = await send('POST', `${path}/fork`, {});
        copies.push([name, (copy.body.data as { readonly thread_id: string }).thread_id]);
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
  const restored = reply('first').join();
  const begun = [...reply('first'), 'other'].join();
  const ended = [...reply('first'), ...reply('other')].join();
  // Every other thread is restored; in the rest a run starts from the checkpoint, and no restore is without its run.
  const allowedOf = (name: string): readonly string[] => (isRestored(name) ? [whole, restored] : [whole, ended]);
  for (const name of names) {
    await until(() => isIdle(name));
    const found = (await messagesOf(name)).join();
    t.true(allowedOf(name).includes(found), `${name}: ${found}`);
    // Whatever was cut, the thread goes on.
    const more = await send('POST', '/v1/graph/invoke', { messages: [user('more')], config: { thread_id: name } });
    t.is(more.status, 200);
    t.is((await messagesOf(name)).join(), [found, ...reply('more')].join());
  }
  for (const [name, copy] of copies) {
    const found = (await messagesOf(copy)).join();
    t.true([...allowedOf(name), begun].includes(found), `copy of ${name}: ${found}`);
  }
  const { threads } = (await send('POST', '/v1/threads/search', { limit: 1000 })).body.data as {
    readonly threads: readonly unknown[];
  };
  t.true(threads.length >= names.length + copies.length);
});
