import { openMemoryToolShelf, openRedisToolShelf } from '@agent-workflow/gateway/tools';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';
import { openRedisKeys } from './redis-keys.ts';
import { toolShelfContract } from './tool-shelf.ts';

toolShelfContract(test, 'memory', async () => {
  let time = 0;
  return {
    shelf: openMemoryToolShelf({ now: () => time }),
    pass: async (ms) => {
      time += ms;
    },
  };
});

withServer(test, redis, (server) => {
  toolShelfContract(test, 'Redis', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    return { shelf: openRedisToolShelf(keys.redis), pass: keys.pass };
  });

  test('Redis: a list that one replica takes is what the others have from then on', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    const [one, other] = [openRedisToolShelf(keys.redis), openRedisToolShelf(await keys.replica())];
    const tool = { nodeName: '', description: '', parametersJson: Buffer.from('{}') };
    for (let turn = 0; turn < 20; turn++) {
      const name = `tool-${String(turn)}`;
      await (turn % 2 === 0 ? one : other).put('u:ada', [{ ...tool, name }]);
      for (const shelf of [one, other]) t.is((await shelf.get('u:ada'))[0]?.name, name);
    }
  });
});
