import { readFileSync } from 'node:fs';
import test from 'ava';
import { createClient, user, type Reply } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { withFaults } from './suite.ts';
import { byLoad } from '../by-load.ts';

const giants = 4;
const requests = 80;
const text = 'x'.repeat(1_900_000);

withFaults(test, () => {
  test.serial(
    'a heap of 128 MB outlasts large bodies and giant threads at once: each request is served or refused with 503, and every run accepted completes',
    async (t) => {
      t.timeout(byLoad(120_000));
      await using workspace = await makeWorkspace('echo');
      const env = { ...workspace.env, NODE_OPTIONS: '--max-old-space-size=128', LOG_LEVEL: 'warn' };
      await using service = await startStandalone(env);
      const client = createClient(service.url);
      for (let giant = 0; giant < giants; giant++) {
        const thread = `giant-${String(giant)}`;
        const made = { messages: [user('hello')], config: { thread_id: thread } };
        t.is((await client.send('POST', '/v1/graph/invoke', made)).status, 200);
        for (let message = 0; message < 4; message++) {
          const path = `/v1/threads/${thread}/messages`;
          t.is((await client.send('POST', path, { messages: [user(text)] })).status, 200);
        }
      }

      const accepted: string[] = [];
      const start = async (config: object, content = text): Promise<Reply> => {
        const reply = await client.send('POST', '/v1/runs', { messages: [user(content)], config });
        if (reply.status === 202) accepted.push((reply.body.data as { readonly run_id: string }).run_id);
        return reply;
      };
      const send = async (index: number): Promise<Reply> => {
        const giant = `giant-${String(index % giants)}`;
        const kinds: readonly (() => Promise<Reply>)[] = [
          async () =>
            client.send('POST', '/v1/graph/invoke', {
              messages: [user(text), user(text)],
              config: { thread_id: `invoke-${String(index)}` },
            }),
          async () => start({ thread_id: giant }, 'hello'),
          async () => start({ thread_id: `run-${String(index)}` }),
          async () => client.send('GET', `/v1/threads/${giant}/state`),
          async () => client.send('GET', `/v1/threads/${giant}/messages`),
        ];
        return (kinds[index % kinds.length] ?? start)({});
      };
      const replies = await Promise.all(
        Array.from({ length: requests }, async (_, index) => send(index).catch(() => undefined)),
      );
      t.is(service.child.exitCode ?? service.child.signalCode, null, service.complaint().slice(0, 500));
      const counts: Record<string, number> = {};
      for (const reply of replies) {
        const status = String(reply?.status ?? 'cut');
        counts[status] = (counts[status] ?? 0) + 1;
        t.true(['200', '202', '503'].includes(status), status);
        if (status === '503') t.truthy(reply?.headers.get('retry-after'));
      }

      for (const runId of accepted) {
        const { body } = await client.send('GET', `/v1/runs/${runId}`);
        const end = await settled(client, runId);
        t.is(end, 'completed', JSON.stringify(body));
      }
      const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(service.child.pid)}/status`, 'utf8'))?.[1];
      t.log(
        `${String(requests)} requests of up to 3.8 MB and on threads of 7.6 MB at once, by status: ${JSON.stringify(counts)}; ${String(Math.round(Number(peak) / 1024))} MB at most`,
      );
      t.is(await service.stop('SIGTERM'), 0);
    },
  );
});

/** The status of a run once it has ended. */
async function settled(client: ReturnType<typeof createClient>, runId: string): Promise<string> {
  for (;;) {
    const { status, body } = await client.send('GET', `/v1/runs/${runId}/wait`);
    if (status !== 503)
      return (
        (body.data as { readonly meta?: { readonly status: string } } | undefined)?.meta?.status ??
        JSON.stringify(body.error)
      );
  }
}
