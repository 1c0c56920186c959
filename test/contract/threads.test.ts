import test from 'ava';
import { testedStores } from './thread-stores/list.ts';
import { inBothShapes } from './threads-shapes.ts';

for (const { isEmbedded, withStore } of testedStores) {
  if (isEmbedded) withStore(test, (store) => inBothShapes(test, store));
}
