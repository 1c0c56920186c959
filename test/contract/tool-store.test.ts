import { openInProcessToolStore, openRedisToolStore } from '@agent-workflow/gateway/tools';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';
import { openRedisKeys } from './redis-keys.ts';
import { toolStoreContract } from './tool-store.ts';

toolStoreContract(test, 'memory', async () => {
  let time = 0;
  return {
    store: openInProcessToolStore({ now: () => time }),
    pass: async (ms) => {
      time += ms;
    },
  };
});

withServer(test, redis, (server) => {
  toolStoreContract(test, 'Redis', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    return { store: openRedisToolStore(keys.redis), pass: keys.pass };
  });

  test('Redis: a list that one replica takes is what the others have from then on', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    const [one, other] = [openRedisToolStore(keys.redis), openRedisToolStore(await keys.replica())];
    const tool = { nodeName: '', description: '', parametersJson: Buffer.from('{}') };
    for (let turn = 0; turn < 20; turn++) {
      const name = `tool-${String(turn)}`;
      await (turn % 2 === 0 ? one : other).put('u:ada', [{ ...tool, name }]);
      for (const store of [one, other]) t.is((await store.get('u:ada'))[0]?.name, name);
    }
  });
});
