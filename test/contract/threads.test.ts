import test from 'ava';
import { testedStores } from './thread-stores/list.ts';
import { threadsInProcess, threadsOverGrpc } from './threads-shapes.ts';

for (const { isEmbedded, withStore } of testedStores) {
  if (!isEmbedded) continue;
  withStore(test, (store) => {
    threadsInProcess(test, store);
    threadsOverGrpc(test, store);
  });
}
