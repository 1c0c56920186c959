import type { TestFn } from 'ava';
import { createClient, user, type Reply } from '../../servers/client.ts';
import type { WholePrivateCluster } from '../../servers/cluster.ts';
import { makeWorkspace } from '../../servers/standalone.ts';

interface Result {
  readonly meta: { readonly status: string };
}

export function goneNode(test: TestFn, cluster: () => WholePrivateCluster): void {
  test.serial(
    'a thread that waits at a node which the agent no longer has is 409 and names it, in a sub-graph too',
    async (t) => {
      const { urls, executions } = cluster();
      const invoke = (body: object, turn = 0): Promise<Reply> =>
        createClient(urls[turn] ?? '').send('POST', '/v1/graph/invoke', body);
      const statusOf = ({ body }: Reply): string => (body.data as Result).meta.status;
      const restartWith = async (agent: string): Promise<AsyncDisposable> => {
        const workspace = await makeWorkspace(agent);
        await Promise.all(executions.map(({ kill }) => kill()));
        const config = { SERVICE_CONFIG: workspace.env['SERVICE_CONFIG'] ?? '' };
        await Promise.all(executions.map(({ start }) => start(config)));
        return workspace;
      };
      const threads = [
        ['asked outside', 'ask', 'ask'],
        ['asked inside', 'ask inside', 'inner/deep'],
      ] as const;
      for (const [thread, text] of threads) {
        const reply = await invoke({ messages: [user(text)], config: { thread_id: thread } });
        t.is(statusOf(reply), 'interrupted');
      }
      await using _later = await restartWith('held-later');
      for (const [thread, , node] of threads) {
        for (const turn of urls.keys()) {
          const reply = await invoke({ messages: [], config: { thread_id: thread }, resume: 'yes' }, turn);
          t.is(reply.status, 409);
          const { message } = reply.body.error as { readonly message: string };
          t.true(message.includes(`waits at node "${node}", which the agent no longer has`), message);
        }
      }
      await using _again = await restartWith('held');
      for (const [thread] of threads) {
        const reply = await invoke({ messages: [], config: { thread_id: thread }, resume: 'yes' }, 1);
        t.is(statusOf(reply), 'completed', 'it waits as before, and goes on where its node is there');
      }
    },
  );
}
