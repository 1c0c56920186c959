import test from 'ava';
import { testedStores } from './thread-stores/list.ts';
import { threadsOverGrpc } from './threads-shapes.ts';

// A cluster has its record on a server and reaches it over gRPC alone.
for (const { isEmbedded, withStore } of testedStores) {
  if (!isEmbedded) withStore(test, (store) => threadsOverGrpc(test, store));
}
