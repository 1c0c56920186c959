import test from 'ava';
import { threadStores } from './thread-stores/list.ts';
import { inBothShapes } from './threads-shapes.ts';

for (const { isEmbedded, withStore } of threadStores) {
  if (isEmbedded) withStore(test, (store) => inBothShapes(test, store));
}
