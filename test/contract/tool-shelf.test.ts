import { openMemoryToolShelf } from '@agent-workflow/gateway/tools/adapters/memory';
import test from 'ava';
import { toolShelfContract } from './tool-shelf.ts';

toolShelfContract(test, 'memory', () => {
  let time = 0;
  const shelf = openMemoryToolShelf({ now: () => time });
  return Promise.resolve({
    shelf,
    pass: (ms) => {
      time += ms;
    },
  });
});
