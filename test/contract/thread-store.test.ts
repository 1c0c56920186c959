import test from 'ava';
import { threadStores } from './thread-stores/list.ts';
import { threadSizesContract } from './thread-sizes.ts';
import { threadStoreContract } from './thread-store.ts';

for (const { isEmbedded, withStore } of threadStores) {
  if (isEmbedded) {
    withStore(test, (store) => {
      threadStoreContract(test, store);
      threadSizesContract(test, store);
    });
  }
}
