import test from 'ava';
import { schedulesContract } from './schedules.ts';
import { testedStores } from './thread-stores/list.ts';

for (const { isEmbedded, withStore } of testedStores)
  if (!isEmbedded) withStore(test, (store) => schedulesContract(test, store));
